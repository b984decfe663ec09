/** Causes of causes that are kept; none of the libraries' goes deeper, and one may stand in its own. */
const MAX_DEPTH = 5;

/**
 * A copy of whatever was thrown, with its texts, code and causes, and nothing else: errors of HTTP clients and
 * databases carry the request, its headers or the values of a query, and end in logs.
 *
 * @param clean takes out of a text what must not be shown
 */
export function toPlainError(thrown: unknown, clean: (text: string) => string = String, depth = 1): Error {
  if (!isErrorLike(thrown))
    return new Error(typeof thrown === "string" ? clean(thrown) : "No Error was thrown.");
  const { name, message, stack, code, cause } = thrown;
  const goesOn = cause !== undefined && cause !== null && depth < MAX_DEPTH;
  const copy = new Error(
    clean(message),
    goesOn ? { cause: toPlainError(cause, clean, depth + 1) } : undefined,
  );
  hide(copy, "name", clean(typeof name === "string" ? name : "Error"));
  hide(copy, "stack", clean(typeof stack === "string" ? stack : message));
  if (typeof code === "string") return Object.assign(copy, { code: clean(code) });
  return typeof code === "number" ? Object.assign(copy, { code }) : copy;
}

interface ErrorLike {
  readonly message: string;
  readonly name?: unknown;
  readonly stack?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** Not by `instanceof`: a host may have errors of another realm. */
function isErrorLike(value: unknown): value is ErrorLike {
  return (
    typeof value === "object" && value !== null && "message" in value && typeof value.message === "string"
  );
}

/** As errors have them: not listed when the error is printed. */
function hide(error: Error, name: "name" | "stack", value: string): void {
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}
