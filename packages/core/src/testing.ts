export type { Dependencies } from "./assemble.js";
export type { RetryBudgetPolicy } from "./channels/retry-budget.js";
export {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./upstream/transport.js";
export type { Repeat } from "./util/async.js";
