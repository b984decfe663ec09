const LONGEST_MS = 1e12;

/** As Redis takes a time: whole, at least one, and not so large that it is written as a power. */
export function toMilliseconds(ms: number): string {
  return String(Math.min(Math.max(1, Math.ceil(ms)), LONGEST_MS));
}
