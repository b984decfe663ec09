/** Milliseconds since 1970; throws a `RangeError` that names what is not an ISO 8601 time. */
export function toInstant(text: string, name: string): number {
  const instant = Date.parse(text);
  if (Number.isNaN(instant)) {
    throw new RangeError(
      `${name} must be an ISO 8601 time such as "2026-01-31T00:00:00Z", not ${JSON.stringify(text)}`,
    );
  }
  return instant;
}
