import type { Part } from "./part.ts";
import { billing } from "./parts/billing.ts";
import { clientSockets } from "./parts/client-sockets.ts";
import { familyAdapters } from "./parts/families.ts";
import { faultMatrix } from "./parts/fault-matrix.ts";
import { histories } from "./parts/histories.ts";
import { kills } from "./parts/kills.ts";
import { marks } from "./parts/marks.ts";
import { moneyModel } from "./parts/money-model.ts";
import { normalizer } from "./parts/normalizer.ts";
import { pollers } from "./parts/pollers.ts";
import { providerSockets } from "./parts/provider-sockets.ts";
import { repricing } from "./parts/repricing.ts";
import { forms, requests } from "./parts/requests.ts";
import { shares } from "./parts/shares.ts";
import { soak } from "./parts/soak.ts";
import { sse } from "./parts/sse.ts";
import { ssrf } from "./parts/ssrf.ts";
import { tasks } from "./parts/tasks.ts";
import { upstream } from "./parts/upstream.ts";

/** All parts, in the order of docs/hardening.md. */
export const PARTS: readonly Part[] = [
  normalizer,
  familyAdapters,
  sse,
  billing,
  repricing,
  shares,
  requests,
  forms,
  clientSockets,
  upstream,
  marks,
  providerSockets,
  ssrf,
  moneyModel,
  histories,
  faultMatrix,
  kills,
  tasks,
  pollers,
  soak,
];

/** @throws RangeError if there is no part of this name */
export function findPart(name: string): Part {
  const part = PARTS.find((other) => other.name === name);
  if (part !== undefined) return part;
  throw new RangeError(`No part ${name}. Parts: ${PARTS.map((other) => other.name).join(", ")}`);
}
