import { CalotypeError, readError } from "./errors.js";

/** Which cookies are sent. Not the type of the DOM, which a project for Node does not have. */
type Credentials = "omit" | "same-origin" | "include";

/** What every call of a client needs. */
export interface Connection {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly apiKey: string | (() => string | Promise<string>) | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: Credentials | undefined;
  readonly maxRetries: number;
  readonly timeoutSeconds: number;
}

/** What every method takes. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the `reason` of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Headers of this call, such as `x-calotype-tags`. They replace those of the client. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For how long the call may take, with its retries and the whole stream, in seconds. Default: that of the client. */
  readonly timeoutSeconds?: number | undefined;
}

/** What methods take that make images. */
export interface ImageCallOptions extends CallOptions {
  /**
   * Calls with the same key and the same request are charged once, for 24 hours. 1 to 255 visible ASCII characters. Default: a
   * random key for each call, which its retries repeat.
   */
  readonly idempotencyKey?: string | undefined;
}

/** A request to the gateway. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** Below the base URL. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | FormData;
  readonly options: CallOptions;
}

/** The end of a call: when its client aborts it, or when its time is over. */
export interface Limit {
  readonly signal: AbortSignal;
  /** What a call rejects with that failed with this error. */
  readonly toError: (cause: unknown) => unknown;
  /** Frees the timer. Call it once the response was read. */
  readonly end: () => void;
}

/** Sends a request, again where that is safe, and reads its response, which is 2xx. */
export async function call<T>(
  connection: Connection,
  request: HttpRequest,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const limit = startLimit(connection, request.options);
  try {
    return await send(connection, request, { limit, read });
  } finally {
    limit.end();
  }
}

/** How a response is read, and how long it may take. */
export interface Reading<T> {
  readonly limit: Limit;
  /** Reads a response that is 2xx. If this rejects because the connection broke, the request is sent again. */
  readonly read: (response: Response) => Promise<T>;
}

/**
 * As {@link call}, with a limit of its own. A failed connection is repeated too: the idempotency key of a request that makes images
 * is the same each time, so it is charged once.
 */
export async function send<T>(
  connection: Connection,
  request: HttpRequest,
  { limit, read }: Reading<T>,
): Promise<T> {
  const url = `${connection.baseUrl}${request.path}`;
  // A wrong address is not a failed connection.
  void new URL(url, globalThis.location?.href);
  for (let retries = 0; ; ) {
    const init = await toInit(connection, request, limit.signal);
    try {
      const response = await connection.fetch(url, init);
      if (response.ok) return await read(response);
      throw await readError(response);
    } catch (cause) {
      const error = limit.toError(cause);
      // The first request still runs. It ends in its own time, so waiting for it counts as no retry.
      const isWaiting = error instanceof CalotypeError && error.code === "idempotency_in_progress";
      const delayMs = findDelay(error, retries);
      if (delayMs === undefined || (retries >= connection.maxRetries && !isWaiting)) throw error;
      if (!isWaiting) retries++;
      await pause(delayMs, limit);
    }
  }
}

/** @throws TypeError for a header that cannot be sent */
async function toInit(
  { apiKey, headers, credentials }: Connection,
  { method, headers: own, body, options }: HttpRequest,
  signal: AbortSignal,
): Promise<RequestInit> {
  const key = typeof apiKey === "function" ? await apiKey() : apiKey;
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const contentType = typeof body === "string" ? { "content-type": "application/json" } : {};
  const all = new Headers();
  for (const some of [authorization, contentType, headers, own, options.headers]) {
    for (const [name, value] of Object.entries(some ?? {})) all.set(name, value);
  }
  return {
    method,
    signal,
    headers: all,
    ...(body !== undefined && { body }),
    // workerd refuses the field, even with the default of `fetch`.
    ...(credentials !== undefined && { credentials }),
  };
}

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 8_000;
/** A longer wait is the caller's decision. */
const MAX_RETRY_AFTER_SECONDS = 60;

/** How long to wait before a repeat, in milliseconds. `undefined`: there is none. */
export function findDelay(error: unknown, retries: number): number | undefined {
  if (!(error instanceof CalotypeError) || !error.shouldRetry) return undefined;
  if (error.retryAfter === undefined) {
    // Up to a quarter less, so that clients that failed together do not return together.
    return Math.min(FIRST_DELAY_MS * 2 ** retries, MAX_DELAY_MS) * (1 - Math.random() / 4);
  }
  return error.retryAfter <= MAX_RETRY_AFTER_SECONDS ? error.retryAfter * 1000 : undefined;
}

/** Waits. Rejects when the call ends before that. */
export function pause(ms: number, { signal, toError }: Pick<Limit, "signal" | "toError">): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(toError(signal.reason));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}

/** The longest time that a timer can have, 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Starts the time of a call. */
export function startLimit(connection: Connection, options: CallOptions): Limit {
  const { signal: outer, timeoutSeconds = connection.timeoutSeconds } = options;
  const controller = new AbortController();
  const { signal } = controller;
  const abort = (): void => controller.abort(outer?.reason);
  const ms = Math.min(timeoutSeconds * 1000, MAX_TIMER_MS);
  const timer = setTimeout(() => controller.abort(tookTooLong(timeoutSeconds)), ms);
  if (outer?.aborted === true) abort();
  outer?.addEventListener("abort", abort, { once: true });
  return {
    signal,
    toError: (cause) => (signal.aborted ? signal.reason : toConnectionError(cause)),
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", abort);
    },
  };
}

function tookTooLong(seconds: number): CalotypeError {
  return new CalotypeError(`The call took longer than ${seconds} s.`, { code: "timeout" });
}

/** `fetch` and the reader of a body reject with a TypeError of any message if the connection fails. */
function toConnectionError(cause: unknown): unknown {
  if (cause instanceof CalotypeError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new CalotypeError(`The connection to the gateway failed: ${why}`, {
    code: "connection_failed",
    shouldRetry: true,
    cause,
  });
}
