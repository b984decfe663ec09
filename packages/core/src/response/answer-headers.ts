/** What every successful answer says beside its body. */
export interface AnswerContext {
  /** The request's id. */
  readonly id: string;
  /** Fields of the client that had no effect. */
  readonly ignored: readonly string[];
}

/** Headers of every successful answer. */
export function toAnswerHeaders({ id, ignored }: AnswerContext): Record<string, string> {
  return {
    "cache-control": "no-store",
    "x-request-id": id,
    ...(ignored.length > 0 && { "x-calotype-ignored": listNames(ignored) }),
  };
}

const MAX_NAMES = 20;

/** Names that a client chose, fit for a header. */
function listNames(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
    .join(", ");
}
