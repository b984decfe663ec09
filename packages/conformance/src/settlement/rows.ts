import type { RowGroup } from "./row.js";
import { ANSWERS } from "./rows-of-answers.js";
import { CLIENTS, CLOSINGS } from "./rows-of-clients.js";
import { LABELS } from "./rows-of-labels.ts";
import { LARGE_ANSWERS } from "./rows-of-large-answers.js";
import { LEDGERS } from "./rows-of-ledgers.js";
import { NO_IMAGES } from "./rows-of-missing-images.js";
import { BUDGETS, REFUSALS, UNSENT } from "./rows-of-refusals.js";
import { REPORTS } from "./rows-of-reports.js";
import { CONNECTIONS, EVENTS } from "./rows-of-streams.js";

/** All that may become of a request. The tests play it, and `docs/settlement.md` shows it. */
export const GROUPS: readonly RowGroup[] = [
  ANSWERS,
  REPORTS,
  NO_IMAGES,
  EVENTS,
  CONNECTIONS,
  LARGE_ANSWERS,
  LABELS,
  REFUSALS,
  UNSENT,
  BUDGETS,
  CLIENTS,
  LEDGERS,
  CLOSINGS,
];
