import { type CalotypeError, invalidResponse } from "./errors.js";
import type { CallOptions, HttpRequest, ImageCallOptions } from "./send.js";
import type { EditRequest, GenerateRequest, ImagesResult } from "./types.js";

/** A request that makes images. One with `images` is an edit. */
export type ImageRequest = GenerateRequest | EditRequest;

type Fields = Readonly<Record<string, unknown>>;

/** Where a request goes, and what it sends. */
interface Target {
  readonly path: "/v1/images/generations" | "/v1/images/edits";
  readonly body: string | FormData;
}

/** The HTTP request. Its idempotency key is the same for all of its repeats. */
export function toHttpRequest(
  request: ImageRequest,
  options: ImageCallOptions,
  { stream, headers }: { readonly stream?: true; readonly headers?: Readonly<Record<string, string>> } = {},
): HttpRequest {
  return {
    method: "POST",
    // `stream` is not the caller's choice: the method reads what it asks for.
    ...toTarget({ ...request, stream }),
    headers: { ...headers, "idempotency-key": options.idempotencyKey ?? createIdempotencyKey() },
    options,
  };
}

/** A random idempotency key of 32 hexadecimal digits. `crypto.randomUUID` does not exist in pages without HTTPS. */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An edit with files is a form. All other requests are JSON. */
function toTarget({ images, ...fields }: Fields): Target {
  if (images === undefined || images === null) {
    return { path: "/v1/images/generations", body: JSON.stringify(fields) };
  }
  const path = "/v1/images/edits";
  const inputs: readonly unknown[] = Array.isArray(images) ? images : [images];
  if ([...inputs, ...Object.values(fields)].some(isFile)) return { path, body: toForm(inputs, fields) };
  return { path, body: JSON.stringify({ ...fields, images: inputs.map((image_url) => ({ image_url })) }) };
}

function isFile(value: unknown): value is Blob {
  return value instanceof Blob;
}

function toForm(images: readonly unknown[], fields: Fields): FormData {
  const form = new FormData();
  for (const image of images) form.append("image", toPart(image));
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== null) form.append(name, toPart(value));
  }
  return form;
}

function toPart(value: unknown): string | Blob {
  return isFile(value) || typeof value === "string" ? value : JSON.stringify(value);
}

/** Not loaded for an estimate, so any link has the price of a file. */
const ANY_LINK = "https://image.invalid/";

function withoutFile(value: unknown): unknown {
  return isFile(value) ? ANY_LINK : value;
}

/** The request for an estimate. Files are not uploaded. */
export function toEstimate(request: ImageRequest, options: CallOptions): HttpRequest {
  const fields = Object.entries(request).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(withoutFile) : withoutFile(value),
  ]);
  const { path, body } = toTarget(Object.fromEntries(fields));
  return { method: "POST", path: `${path}/estimate`, body, options };
}

/** Reads the images of a response. */
export async function readResult(response: Response): Promise<ImagesResult> {
  const result = await readJson<ImagesResult>(response);
  return { ...result, ...requestIdOf(response), ...chargeOf(response) };
}

/** @throws CalotypeError `invalid_response` if the body is not JSON; another error if the connection breaks */
export async function readJson<T extends object>(response: Response): Promise<T> {
  return parseJson<T>(await response.text());
}

/** @throws CalotypeError `invalid_response` */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the OpenAPI document says what the gateway sends
export function parseJson<T extends object>(text: string): T {
  let value: T | null | undefined;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw noJson(cause);
  }
  if (typeof value !== "object" || value === null) throw noJson();
  return value;
}

function noJson(cause?: unknown): CalotypeError {
  return invalidResponse("The response is not a gateway's: it is not JSON. Is baseUrl correct?", cause);
}

/** The events of a response. */
export async function readStream({ body }: Response): Promise<ReadableStream<Uint8Array>> {
  if (body === null) throw invalidResponse("The response has no body.");
  return body;
}

export function requestIdOf({ headers }: Response): { readonly requestId?: string } {
  const requestId = headers.get("x-request-id");
  return requestId === null ? {} : { requestId };
}

function chargeOf({ headers }: Response): { readonly charge?: string } {
  const charge = headers.get("x-calotype-charge");
  return charge === null ? {} : { charge };
}
