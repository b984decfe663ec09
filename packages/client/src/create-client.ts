import { type ImageRequest, readJson, readResult, toEstimate, toHttpRequest } from "./image-request.js";
import { type CallOptions, type Connection, call, type ImageCallOptions } from "./send.js";
import { streamImages } from "./stream.js";
import { createTasks, type Tasks } from "./tasks.js";
import type { EditRequest, Estimate, GenerateRequest, ImageEvent, ImagesResult, Model } from "./types.js";

/** The options of {@link createClient}. */
export interface ClientOptions {
  /**
   * Where the gateway is mounted, such as `https://images.example.com/ai`. In a page it may be a path, such as `/ai` or `/`. A `/v1`
   * at its end is left out.
   */
  readonly baseUrl: string;
  /**
   * The caller's key, or a function that returns it, such as one that expires soon. Without it a page sends its cookies to its own
   * origin. Every visitor can read a key in a page.
   */
  readonly apiKey?: Connection["apiKey"];
  /** Headers of all requests. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Which cookies are sent. Default: as `fetch` does, to the same origin only. */
  readonly credentials?: Connection["credentials"];
  /** How often a request is sent again. A wait for a first request with the same key does not count. Default 2. */
  readonly maxRetries?: number | undefined;
  /** For how long a call may take, with its retries, in seconds. `tasks.wait` and `tasks.events` have no limit. Default 900. */
  readonly timeoutSeconds?: number | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: Connection["fetch"] | undefined;
}

/**
 * A client of a gateway. Every method that makes images sends an idempotency key, and sends the request again if the connection or
 * the gateway failed and a repeat is not charged twice. Every method rejects with a `CalotypeError`, or with the reason of its
 * `signal`.
 */
export interface Client {
  /** Makes images from text, or from text and links to images. */
  generate(request: GenerateRequest, options?: ImageCallOptions): Promise<ImagesResult>;
  /** Edits images. Files are uploaded. */
  edit(request: EditRequest, options?: ImageCallOptions): Promise<ImagesResult>;
  /**
   * Makes or edits images, and returns each when it is ready. A request with `images` is an edit. With a model that does not stream,
   * the images come together. Leaving the loop closes the connection; what the provider has begun to make is charged.
   */
  stream(request: ImageRequest, options?: ImageCallOptions): AsyncGenerator<ImageEvent, void, undefined>;
  /** Returns the most that a request would be charged. Nothing is sent to a provider, and files are not uploaded. */
  estimate(request: ImageRequest, options?: CallOptions): Promise<Estimate>;
  /** Requests whose result is read later. */
  readonly tasks: Tasks;
  /** Lists the models that the caller may use. */
  models(options?: CallOptions): Promise<Model[]>;
}

/**
 * Creates a client of a gateway. Nothing is sent before the first call.
 *
 * @example
 * ```ts
 * import { createClient } from "@calotype/client";
 *
 * const client = createClient({ baseUrl: "http://localhost:8787", apiKey: "sk-local" });
 * const { data } = await client.generate({ model: "seedream-4-5", prompt: "a paper boat on a lake" });
 * console.log(data[0]?.url);
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const { baseUrl, apiKey, headers = {}, credentials, maxRetries = 2, timeoutSeconds = 900 } = options;
  const connection: Connection = {
    baseUrl: baseUrl.replace(/\/+$/, "").replace(/\/v1$/, ""),
    // Called without `this`, which browsers refuse, and looked up late, so that a test can replace it.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    apiKey,
    headers,
    credentials,
    maxRetries,
    timeoutSeconds,
  };
  const makeImages = (request: ImageRequest, callOptions: ImageCallOptions = {}): Promise<ImagesResult> =>
    call(connection, toHttpRequest(request, callOptions), readResult);
  return {
    generate: makeImages,
    edit: makeImages,
    stream: (request, callOptions = {}) => streamImages(connection, request, callOptions),
    estimate: (request, callOptions = {}) =>
      call(connection, toEstimate(request, callOptions), readJson<Estimate>),
    tasks: createTasks(connection),
    models: async (callOptions = {}) => {
      const request = { method: "GET", path: "/v1/models", options: callOptions } as const;
      const { data } = await call(connection, request, readJson<{ readonly data: Model[] }>);
      return data;
    },
  };
}
