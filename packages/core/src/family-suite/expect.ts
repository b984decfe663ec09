/** Thrown by a check that failed. */
export class FamilyCheckError extends Error {
  override readonly name = "FamilyCheckError";
}

/** @throws FamilyCheckError that says what the family must do */
export function require(isTrue: boolean, rule: string, seen?: unknown): asserts isTrue {
  if (isTrue) return;
  throw new FamilyCheckError(seen === undefined ? rule : `${rule}\nSeen: ${describe(seen)}`);
}

/** Compares values as JSON, in which members that are `undefined` are absent. */
export function requireSame(seen: unknown, expected: unknown, rule: string): void {
  const isSame = describe(seen) === describe(expected);
  require(isSame, `${rule}\nExpected: ${describe(expected)}`, seen);
}

function describe(value: unknown): string {
  return JSON.stringify(sortMembers(value)) ?? "undefined";
}

/** The order of members means nothing. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, member]) => [name, sortMembers(member)]));
}
