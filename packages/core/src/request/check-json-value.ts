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
export function checkJsonValue(value: unknown, { maxDepth, maxValues }: JsonValueLimits): void {
  let values = 0;
  const visit = (part: unknown, depth: number): void => {
    values++;
    if (values > maxValues) throw tooManyValues(maxValues);
    if (typeof part !== "object" || part === null) return;
    if (depth >= maxDepth) throw tooDeep(maxDepth);
    for (const child of Object.values(part)) visit(child, depth + 1);
  };
  visit(value, 0);
}
