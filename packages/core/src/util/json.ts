/** A JSON object as it came over the wire: keys are known, values are not. */
export type JsonObject = Record<string, unknown>;

/** True for what JSON writes in braces; arrays and `null` are not objects. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
