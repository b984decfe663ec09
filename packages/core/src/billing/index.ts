export type {
  Charge,
  ChargeDerivation,
  ChargeInput,
  PerRequestDerivation,
  PerTokenDerivation,
} from "./calculate-charge.js";
export { calculateCharge } from "./calculate-charge.js";
export type { DecimalInput } from "./decimal-input.js";
export type { ModelDetails, PerRequestDetails, PerTokenDetails } from "./model-details.js";
export type { BillingOptions } from "./pricing.js";
export type { UsageRecord } from "./usage-record.js";
