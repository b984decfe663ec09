import { isJsonObject } from "../json.js";
import { tooDeep, tooManyValues } from "./check-json-structure.js";

/** How large a parsed body may be. */
export interface JsonValueLimits {
  readonly maxDepth: number;
  readonly maxValues: number;
}

/**
 * Holds a body that the host's parser made to the limits of one that is read here. Doubled keys
 * are past finding.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkJsonValue(value: unknown, limits: JsonValueLimits): void {
  visit(value, 0, { values: 0, limits });
}

interface Count {
  values: number;
  readonly limits: JsonValueLimits;
}

function visit(value: unknown, depth: number, count: Count): void {
  const { maxDepth, maxValues } = count.limits;
  count.values++;
  if (count.values > maxValues) throw tooManyValues(maxValues);
  if (typeof value !== "object" || value === null) return;
  if (depth >= maxDepth) throw tooDeep(maxDepth);
  if (!isJsonObject(value)) {
    for (const item of Object.values(value)) visit(item, depth + 1, count);
    return;
  }
  // By name: a list of the values would be made for each object of each answer.
  for (const name in value) if (Object.hasOwn(value, name)) visit(value[name], depth + 1, count);
}
