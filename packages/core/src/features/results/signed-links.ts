import { equalsInConstantTime, hmacSha256 } from "../../util/sha256.js";

/** The path of an image that the gateway serves, without its id. */
const FILES_PATH = "/v1/images/files";

/** The image that a link leads to, and the end of the link. */
export interface LinkTarget {
  readonly id: string;
  readonly expiresAt: Date;
}

/**
 * Makes a link with which a client can read an image without an API key. The signature is HMAC-SHA256 over the id and the
 * end of the link.
 *
 * @param base the URL before `/v1/…`
 */
export function makeLink(base: string, { id, expiresAt }: LinkTarget, secret: string): string {
  const expires = String(Math.ceil(expiresAt.getTime() / 1000));
  return `${base}${FILES_PATH}/${id}?expires=${expires}&signature=${sign(id, expires, secret)}`;
}

/** What a link is good for. */
export type LinkState =
  | { readonly kind: "valid"; readonly secondsLeft: number }
  | { readonly kind: "expired" }
  | { readonly kind: "wrong" };

const WRONG: LinkState = { kind: "wrong" };
const EXPIRES = /^[1-9]\d{0,11}$/;
const SIGNATURE = /^[\w-]{43}$/;

/**
 * Checks the query of a link. A parameter that occurs twice makes the link wrong; other parameters are ignored, because
 * some programs add their own to every link.
 *
 * @param secrets each of them verifies
 * @param now milliseconds since 1970
 */
export function checkLink(
  { id, query }: { readonly id: string; readonly query: URLSearchParams },
  secrets: readonly string[],
  now: number,
): LinkState {
  const expires = readSingle(query, "expires");
  const signature = readSingle(query, "signature");
  if (expires === undefined || signature === undefined) return WRONG;
  if (!EXPIRES.test(expires) || !SIGNATURE.test(signature)) return WRONG;
  // The strings are compared and not their bytes: in base64url several strings can have the same bytes.
  if (!secrets.some((secret) => equalsInConstantTime(signature, sign(id, expires, secret)))) return WRONG;
  const secondsLeft = Math.floor(Number(expires) - now / 1000);
  return secondsLeft > 0 ? { kind: "valid", secondsLeft } : { kind: "expired" };
}

function readSingle(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}

/** The prefix keeps the signature apart from other uses of the same secret. */
function sign(id: string, expires: string, secret: string): string {
  return hmacSha256(secret, `calotype-file\n${id}\n${expires}`);
}
