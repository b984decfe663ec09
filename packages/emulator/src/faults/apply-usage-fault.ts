import type { Fault } from "./fault.js";

/** The field `usage` of a response as the fault changes it: complete, with other values, or absent. */
export function applyUsageFault(usage: object, fault: Fault): { usage?: object } {
  return fault.omitUsage === true ? {} : { usage: { ...usage, ...fault.usage } };
}
