import type { ErrorBody } from "../wire.js";

/** The path at which the studio is mounted, such as `/studio`. */
export const BASE = document.querySelector<HTMLMetaElement>('meta[name="studio-base"]')?.content ?? "";

/** A refusal of the studio or of the gateway. Its texts come from elsewhere and are only ever shown as text. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** 0: there was no response. */
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  /** The id of the request to the gateway. */
  readonly requestId: string | undefined;
  /** The provider's id of the request. If there is one, the provider has refused the request, and the message is its own. */
  readonly upstreamRequestId: string | undefined;
  /** What is wrong with the prices that were sent. */
  readonly problems: NonNullable<ErrorBody["error"]["problems"]>;

  constructor(status: number, error: ErrorBody["error"], requestId: string | null = null) {
    const { code, message, param, upstream_request_id, problems = [] } = error;
    super(message);
    this.status = status;
    this.code = code;
    this.param = param ?? undefined;
    this.requestId = requestId ?? undefined;
    this.upstreamRequestId = upstream_request_id;
    this.problems = problems;
  }
}

/** What a request of the page may have. */
export interface ApiOptions {
  readonly method?: "GET" | "POST" | "PATCH";
  readonly body?: unknown;
  /** The API key that pays. */
  readonly key?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request below `api/` and returns the response if it succeeded. */
export async function send(path: string, options: ApiOptions = {}): Promise<Response> {
  const { method = "GET", body, key, signal } = options;
  // No other characters fit into a header.
  if (key !== undefined && !/^[\x21-\x7e]+$/.test(key)) {
    throw new ApiError(401, {
      code: "invalid_api_key",
      message: "The API key has characters that no key has.",
    });
  }
  const headers = new Headers();
  if (method !== "GET") headers.set("x-calotype-studio", "1");
  if (body !== undefined) headers.set("content-type", "application/json");
  if (key !== undefined) headers.set("x-calotype-studio-key", key);
  let response: Response;
  try {
    response = await fetch(`${BASE}/api/${path}`, {
      method,
      headers,
      signal: signal ?? null,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    throw new ApiError(0, { code: "unreachable", message: "The server does not respond." });
  }
  if (response.ok) return response;
  throw await toError(response);
}

/** Sends a request and reads the JSON of its response. The types are those of `wire.ts`, which the server uses too. */
export async function call<T>(path: string, options?: ApiOptions): Promise<T> {
  const response = await send(path, options);
  try {
    const value: T = await response.json();
    return value;
  } catch (cause) {
    if (options?.signal?.aborted === true) throw cause;
    // Such as the page of a login to which the server has redirected the request.
    const message = "The response is not one of the studio.";
    throw new ApiError(response.status, { code: "unexpected_response", message });
  }
}

async function toError(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id");
  try {
    const { error }: ErrorBody = await response.json();
    return new ApiError(response.status, error, requestId);
  } catch {
    // A proxy in between responded with something else.
    return new ApiError(response.status, { code: `http_${response.status}`, message: response.statusText });
  }
}
