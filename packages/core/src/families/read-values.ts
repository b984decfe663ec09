/** A count that a provider reported, or `undefined` when it is no whole number of at least 0. */
export function readCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** A text that a provider gave, or `undefined` when there is none. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
