import { AwsV4Signer } from "aws4fetch";
import type { S3Credentials } from "./options.js";

/** The part of a request that the signature covers. `headers` includes `x-amz-content-sha256`. */
export interface RequestToSign {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Signing {
  readonly credentials: S3Credentials;
  readonly region: string;
  /** The time of the signature. */
  readonly date: Date;
}

/**
 * Signs a request with version 4 of AWS's signature. Every given header is signed, as by the official SDK.
 *
 * @returns the headers to send, with `authorization`
 */
export async function signRequest(request: RequestToSign, signing: Signing): Promise<Headers> {
  const { headers } = await createSigner(request, signing, false).sign();
  return headers;
}

/** The host of the URL is signed. Every other part of a presigned link is in its query. */
export async function presign(url: string, expiresInSeconds: number, signing: Signing): Promise<string> {
  const unsigned = new URL(url);
  unsigned.searchParams.set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD");
  unsigned.searchParams.set("X-Amz-Expires", String(expiresInSeconds));
  // The official SDK adds the name of the operation to every URL. With it, both make the same link.
  unsigned.searchParams.set("x-id", "GetObject");
  const signed = await createSigner({ method: "GET", url: unsigned.href, headers: {} }, signing, true).sign();
  const query = [...signed.url.searchParams]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`);
  // Not `signed.url.search`, which writes a space as `+`.
  return `${signed.url.origin}${signed.url.pathname}?${query.join("&")}`;
}

/** A key as the path of a URL, without the first slash. */
export function encodeKey(key: string): string {
  return key.split("/").map(encode).join("/");
}

/** A query in the encoding of the signature. A parameter with an empty value has no `=`. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(query).map(([name, value]) =>
    value === "" ? encode(name) : `${encode(name)}=${encode(value)}`,
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function createSigner(
  { method, url, headers }: RequestToSign,
  { credentials, region, date }: Signing,
  signQuery: boolean,
): AwsV4Signer {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  return new AwsV4Signer({
    method,
    url,
    headers,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    region,
    datetime: date.toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
    signQuery,
    allHeaders: true,
  });
}

/** RFC 3986: everything except letters, digits and `-._~` is encoded. */
function encode(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
