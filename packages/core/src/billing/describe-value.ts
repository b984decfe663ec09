/** How much of a text a message quotes. */
const QUOTED = 40;

/** A refused value, for a message: short however long the value is, and without running code of its own. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > QUOTED ? `${value.slice(0, QUOTED)}…` : value);
  }
  if (typeof value === "object") return value === null ? "null" : "an object";
  const isShort = typeof value === "number" || typeof value === "boolean" || value === undefined;
  return isShort ? String(value) : `a ${typeof value}`;
}
