/** The primary result codes of SQLite that are told apart; https://www.sqlite.org/rescode.html */
const CODES = {
  busy: 5,
  readonly: 8,
  corrupt: 11,
  cantopen: 14,
  notadb: 26,
} as const;

/** Whether an error is SQLite's, of this kind. */
export function isSqliteError(error: unknown, kind: keyof typeof CODES): boolean {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return false;
  // Extended codes carry the primary one in their lowest byte.
  return error.errcode % 256 === CODES[kind];
}
