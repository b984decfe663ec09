/** What every successful answer says beside its body. */
export interface ResponseContext {
  /** The request's id. */
  readonly id: string;
  /** Fields of the client that had no effect. */
  readonly ignored: readonly string[];
}

/** Headers of every successful answer of this type. */
export function toResponseHeaders(
  contentType: string,
  { id, ignored }: ResponseContext,
): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": contentType,
    "cache-control": "no-store",
    "x-request-id": id,
  };
  if (ignored.length > 0) headers["x-calotype-ignored"] = listNames(ignored);
  return headers;
}

const MAX_NAMES = 20;

/** Names that a client chose, fit for a header. */
function listNames(names: readonly string[]): string {
  return names
    .slice(0, MAX_NAMES)
    .map((name) => encodeURIComponent(name.slice(0, 64).toWellFormed()))
    .join(", ");
}
