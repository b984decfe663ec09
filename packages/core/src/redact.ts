import type { FailureReason } from "./types.js";

/** Keys of providers, keys of ours as `generateApiKey` makes them, and whatever is sent as a key. */
const KEY_LIKE = /\b(?:sk|ak|ark)-[\w-]{8,}|\bcal-[\dA-Z]{43}|\bBearer\s+[\w.~+/=-]{8,}/gi;

/** A shorter value is a placeholder, such as `none`; redacting it would remove ordinary words from a response. */
const MIN_SECRET_LENGTH = 8;
/** A shorter value of digits only could be a number in a response, such as a count of tokens. */
const MIN_NUMBER_LENGTH = 17;

/** Redacts keys in a string that will be shown. */
export type Redaction = (text: string) => string;

/** Header names that say that their value is a secret. */
const SECRET_NAME = /auth|key|token|secret|password|credential|cookie|session|signature/i;
/** A header value with any other name is a secret if it looks random: long, and with digits between its letters. */
const RANDOM_LENGTH = 16;
const RANDOM_CHANGES = 4;

/**
 * Returns the secrets in the keys and headers of a channel. A header value is a secret if the header's name says so,
 * or if the value looks random. A region or a user agent is not a secret: redacting it would break links that contain
 * it. For `Basic …` and for cookies, the parts of the value are secrets too.
 */
export function findSecrets(
  keys: readonly string[],
  headers: Readonly<Record<string, string>>,
): readonly string[] {
  const values = Object.entries(headers).flatMap(([name, value]) => {
    if (SECRET_NAME.test(name)) return [value, ...partsOf(value)];
    return looksRandom(value) ? [value] : [];
  });
  return [...new Set([...keys, ...values])].filter(isLongEnough);
}

/**
 * Returns the credential after `Basic`, and the values of cookies. Parts without a digit are words such as `Basic`
 * itself.
 */
function partsOf(value: string): readonly string[] {
  const parts = [...value.split(/[\s;,]+/), ...value.split(/[\s;,=]+/)];
  return parts.filter((part) => /\d/.test(part));
}

/** `4f9a1c2e77aa03bd` changes between letters and digits many times, `doubao-seedream-4-5-251128` once. */
function looksRandom(value: string): boolean {
  if (value.length < RANDOM_LENGTH || /\s/.test(value)) return false;
  const changes = value.replace(/[^a-z\d]/gi, "").match(/[a-z](?=\d)|\d(?=[a-z])/gi) ?? [];
  return changes.length >= RANDOM_CHANGES;
}

function isLongEnough(secret: string): boolean {
  return secret.length >= (/^\d+$/.test(secret) ? MIN_NUMBER_LENGTH : MIN_SECRET_LENGTH);
}

/**
 * Creates a redaction for our own strings. It redacts the given secrets, and does not change other strings that look like
 * keys, such as names.
 */
export function createKeyRedaction(secrets: readonly string[]): Redaction {
  // The longest secret first: if a key begins with another key, its whole length is redacted.
  const longestFirst = secrets.filter(isLongEnough).toSorted((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
}

/**
 * Creates a redaction for strings of providers, who quote the key that they refuse. It redacts the given secrets and
 * everything else that looks like a key.
 */
export function createSecretRedaction(secrets: readonly string[]): Redaction {
  const redactKeys = createKeyRedaction(secrets);
  return (text) => redactKeys(text).replace(KEY_LIKE, "***");
}

/** Redacts keys in a reason. Providers quote the key that they refuse, also in responses with status 200. */
export function redactReason<R extends FailureReason>(reason: R, redact: Redaction): R {
  return { ...reason, code: redact(reason.code), message: redact(reason.message) };
}

/** The maximum depth of causes. An error may be its own cause. */
const MAX_DEPTH = 5;

/**
 * Copies the messages, code and causes of what was thrown, and nothing else. Errors of HTTP clients and databases contain
 * the request, its headers or the values of a query, which must not get into logs.
 *
 * @param clean redacts secrets in a string
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

/** Does not use `instanceof`, because errors may come from another realm. */
function isErrorLike(value: unknown): value is ErrorLike {
  return (
    typeof value === "object" && value !== null && "message" in value && typeof value.message === "string"
  );
}

/** Sets a property that is not listed when the error is printed. */
function hide(error: Error, name: "name" | "stack", value: string): void {
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}
