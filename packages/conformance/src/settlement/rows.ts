import type { RowGroup } from "./row.js";
import { CLIENTS, CLOSINGS } from "./rows-of-clients.js";
import { EARLY_STREAMS } from "./rows-of-early-streams.js";
import { JOBS } from "./rows-of-jobs.js";
import { LABELS } from "./rows-of-labels.ts";
import { LARGE_RESPONSES } from "./rows-of-large-responses.js";
import { LEDGERS } from "./rows-of-ledgers.js";
import { NO_IMAGES } from "./rows-of-missing-images.js";
import { OPENAI_STREAMS } from "./rows-of-openai-streams.ts";
import { BUDGETS, REFUSALS, UNSENT } from "./rows-of-refusals.js";
import { REPORTS } from "./rows-of-reports.js";
import { SEVERAL_CALLS } from "./rows-of-several-calls.js";
import { CONNECTIONS, EVENTS } from "./rows-of-streams.js";
import { SUCCESSES } from "./rows-of-successes.js";

/** Every possible outcome of a request. The tests run these rows, and `docs/settlement.md` shows them. */
export const GROUPS: readonly RowGroup[] = [
  SUCCESSES,
  REPORTS,
  NO_IMAGES,
  EVENTS,
  CONNECTIONS,
  LARGE_RESPONSES,
  OPENAI_STREAMS,
  LABELS,
  REFUSALS,
  SEVERAL_CALLS,
  JOBS,
  EARLY_STREAMS,
  UNSENT,
  BUDGETS,
  CLIENTS,
  LEDGERS,
  CLOSINGS,
];
