export type { RetryBudgetPolicy } from "./channels/retry-budget.js";
export { createFamilyChecks } from "./family-suite/create-family-checks.js";
export { FamilyCheckError } from "./family-suite/expect.js";
export type * from "./family-suite/subject.js";
export type { Dependencies } from "./kernel/kernel-parts.js";
export {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./upstream/transport.js";
export type { Repeat } from "./util/async.js";
