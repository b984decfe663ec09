/** The primary result codes of SQLite that we distinguish; https://www.sqlite.org/rescode.html */
const CODES = {
  busy: 5,
  readonly: 8,
  corrupt: 11,
  cantopen: 14,
  notadb: 26,
} as const;

/** Whether an error is an error of SQLite of this kind. */
export function isSqliteError(error: unknown, kind: keyof typeof CODES): boolean {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return false;
  // The lowest byte of an extended code is the primary code.
  return error.errcode % 256 === CODES[kind];
}
