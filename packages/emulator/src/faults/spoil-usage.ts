import type { Fault } from "./fault.js";

/** The field `usage` of an answer, as the fault leaves it: whole, overwritten in parts, or absent. */
export function spoilUsage(usage: object, fault: Fault): { usage?: object } {
  return fault.omitUsage === true ? {} : { usage: { ...usage, ...fault.usage } };
}
