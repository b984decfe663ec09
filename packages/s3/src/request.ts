import { follow, raced, sleep } from "./abort.js";
import type { RequestBody } from "./body.js";
import { isTransient, isUncertain, S3Error } from "./error.js";
import { assertCredentials, type S3Credentials, type S3Settings } from "./options.js";
import { encodeKey, encodeQuery, signRequest } from "./sign.js";
import { childValue, parseXml } from "./xml.js";

/** A request for one object of the bucket, or for the bucket. */
export interface S3Request {
  /** The name in the API of S3, for error messages. */
  readonly operation: string;
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Default: the bucket. */
  readonly key?: string | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Headers that are signed. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Headers that a proxy may change. The official SDK does not sign `cache-control` either. */
  readonly unsignedHeaders?: Readonly<Record<string, string>> | undefined;
  /** The service compares its hash. */
  readonly body?: RequestBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called if an attempt may have been carried out although it failed. */
  readonly onUncertain?: (() => void) | undefined;
}

/** Reads a successful response. It may throw an {@link S3Error}, which is treated as one of the response. */
export type ReadResponse<T> = (response: Response, controller: AbortController) => T | Promise<T>;

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const MAX_DOCUMENT_BYTES = 256 * 1024;
const FIRST_DELAY_SECONDS = 0.1;
const MAX_DELAY_SECONDS = 5;

/**
 * Signs and sends requests. Repeats a request after a failure that may pass, with growing random delays. Each attempt has
 * the time of `requestSeconds`, in which its response is also read.
 */
export class S3Client {
  readonly #settings: S3Settings;

  constructor(settings: S3Settings) {
    this.#settings = settings;
  }

  /** @throws S3Error, or the reason of the signal if it was aborted */
  async send<T>(request: S3Request, read: ReadResponse<T>): Promise<T> {
    const { maxRetries, retrySeconds } = this.#settings;
    const start = performance.now();
    for (let retries = 0; ; retries++) {
      const result = await this.#attempt(request, read);
      if (!(result instanceof Failure)) return result;
      const { error, retryAfterSeconds } = result;
      const delay = Math.max(retryAfterSeconds, toDelay(retries));
      const elapsed = (performance.now() - start) / 1_000;
      if (!isTransient(error) || retries >= maxRetries || elapsed + delay > retrySeconds) throw error;
      await sleep(delay, request.signal);
    }
  }

  /** The URL of an object, or of the bucket. */
  urlOf(key: string | undefined, query: Readonly<Record<string, string>> = {}): string {
    return `${this.#settings.bucketUrl}/${key === undefined ? "" : encodeKey(key)}${encodeQuery(query)}`;
  }

  /** The current credentials of the operator. */
  async credentials(): Promise<S3Credentials> {
    const credentials = await this.#settings.credentials();
    assertCredentials(credentials);
    return credentials;
  }

  async #attempt<T>(request: S3Request, read: ReadResponse<T>): Promise<T | Failure> {
    const { operation, signal } = request;
    signal?.throwIfAborted();
    const attempt: Attempt = { controller: new AbortController(), isSent: false, credentials: undefined };
    const unfollow = follow(signal, attempt.controller);
    const { requestSeconds } = this.#settings;
    const timer = setTimeout(() => {
      attempt.controller.abort(new S3Error(`no response in ${requestSeconds} seconds.`, { operation }));
    }, requestSeconds * 1_000);
    try {
      // Raced, because a `fetch` or a function for credentials may not notice the signal.
      return await raced(this.#exchange(request, attempt, read), attempt.controller.signal);
    } catch (cause) {
      const error = toError(operation, cause, attempt.credentials);
      attempt.controller.abort(error);
      if (attempt.isSent && isUncertain(error)) request.onUncertain?.();
      if (signal?.aborted === true) throw signal.reason;
      return new Failure(error, readRetryAfter(cause));
    } finally {
      clearTimeout(timer);
      unfollow();
    }
  }

  async #exchange<T>(request: S3Request, attempt: Attempt, read: ReadResponse<T>): Promise<T> {
    const { method, key, query, body, operation } = request;
    const { region, fetch, usesStreams } = this.#settings;
    const url = this.urlOf(key, query);
    const credentials = await this.credentials();
    attempt.credentials = credentials;
    const signed = { ...request.headers, "x-amz-content-sha256": body?.sha256 ?? EMPTY_SHA256 };
    const signing = { credentials, region, date: new Date() };
    const headers = await signRequest({ method, url, headers: signed }, signing);
    for (const [name, value] of Object.entries(request.unsignedHeaders ?? {})) headers.set(name, value);
    const { signal } = attempt.controller;
    signal.throwIfAborted();
    attempt.isSent = true;
    const init = {
      method,
      headers,
      signal,
      redirect: "manual",
      ...body?.toInit(headers, usesStreams),
    } as const;
    const response = await fetch(url, init);
    if (response.ok) return await read(response, attempt.controller);
    throw new RefusedResponse(await toS3Error(operation, response), response.headers.get("retry-after"));
  }
}

/** One try of a request. */
interface Attempt {
  readonly controller: AbortController;
  isSent: boolean;
  credentials: S3Credentials | undefined;
}

/** A failed attempt. A class, so that no value that `read` returns can be confused with it. */
class Failure {
  readonly error: S3Error;
  readonly retryAfterSeconds: number;

  constructor(error: S3Error, retryAfterSeconds: number) {
    this.error = error;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

class RefusedResponse extends Error {
  readonly error: S3Error;
  readonly retryAfter: string | null;

  constructor(error: S3Error, retryAfter: string | null) {
    super(error.message);
    this.error = error;
    this.retryAfter = retryAfter;
  }
}

function toError(operation: string, cause: unknown, credentials: S3Credentials | undefined): S3Error {
  const error = cause instanceof RefusedResponse ? cause.error : cause;
  if (error instanceof S3Error && !hasSecret(error.message, credentials)) return error;
  if (error instanceof S3Error) return new S3Error("the message has a key and is not shown.", error);
  const description = describe(cause);
  if (hasSecret(description, credentials)) return new S3Error("the request failed.", { operation });
  return new S3Error(`the request failed: ${description}`, { operation, cause });
}

function hasSecret(message: string, credentials: S3Credentials | undefined): boolean {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials ?? {};
  return [accessKeyId, secretAccessKey, sessionToken].some(
    (key) => key !== undefined && message.includes(key),
  );
}

/** Reads and ignores a short body, so that its connection can be used again. */
export async function drain(response: Response): Promise<void> {
  await readShortBody(response);
}

/** Reads a short XML document. `undefined` if the body is not one. */
export async function readDocument(response: Response): Promise<ReturnType<typeof parseXml> | undefined> {
  const content = await readShortBody(response);
  try {
    return parseXml(content);
  } catch {
    return undefined; // a page of a proxy, or a body that was cut
  }
}

/** An error of the service. Its document is `<Error>` with `<Code>`, `<Message>` and `<RequestId>`. */
async function toS3Error(operation: string, response: Response): Promise<S3Error> {
  const { status, headers } = response;
  const document = await readDocument(response);
  const code = document && childValue(document, "Code")?.slice(0, 100);
  const message = document && childValue(document, "Message")?.slice(0, 300);
  const region = headers.get("x-amz-bucket-region");
  const requestId =
    headers.get("x-amz-request-id") ?? (document && childValue(document, "RequestId")) ?? undefined;
  const redirect =
    status >= 300 && status < 400
      ? ` The bucket is elsewhere${region === null ? "" : `, in ${region}`}.`
      : "";
  const shown = [status, code, message].filter((part) => part !== undefined && part !== "").join(" ");
  return new S3Error(`${shown}${redirect}`, { operation, status, code, requestId });
}

async function readShortBody(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let content = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return content + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_DOCUMENT_BYTES) {
      await reader.cancel();
      return content;
    }
    content += decoder.decode(value, { stream: true });
  }
}

/** The delay before a repeat: a random part of a time that doubles. */
function toDelay(retries: number): number {
  return Math.min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** retries) * (0.5 + Math.random() / 2);
}

function readRetryAfter(cause: unknown): number {
  const seconds = cause instanceof RefusedResponse ? Number(cause.retryAfter ?? 0) : 0;
  return seconds > 0 ? seconds : 0;
}

/** `fetch failed` of Node says nothing; its cause does. */
function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
