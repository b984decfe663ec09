import type { Caller, Preferences } from "./types.js";
import type { Awaitable } from "./util/async.js";

/** Reads headers by name, in any letter case. `Headers` has this shape. */
export interface HeaderReader {
  get(name: string): string | null;
  /** The names of all headers, in lower case. Absent: the host cannot list them. The gateway does not use it. */
  keys?(): Iterable<string>;
}

/** Tells whether a client has disconnected. An `AbortSignal` has this shape. */
export interface ClientSignal {
  readonly aborted: boolean;
  /**
   * Registers a listener for the moment at which the client disconnects. If a host has no such function, the gateway reads
   * `aborted` once a second while a client waits for a task.
   */
  addEventListener?(type: "abort", listener: () => void): void;
  removeEventListener?(type: "abort", listener: () => void): void;
}

/**
 * Finds the app's own signed-in user in a request of the host. Returns the user as a caller, whose `id` is that of the user in
 * the app, or `null` if nobody is signed in. In records, budgets and limits the id has the prefix `user:`.
 *
 * The gateway calls it only for a request without a key, and only if no page of another site can have sent the request. Do not
 * read the body of the request.
 */
export type FindUser<HostRequest> = (request: HostRequest) => Awaitable<Caller | null | undefined>;

/**
 * How a gateway is mounted in a host.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import type { MountOptions } from "@calotype/core/adapter";
 *
 * declare const sessions: { find(cookie: string | null): Promise<{ readonly userId: string } | undefined> };
 * const options: MountOptions<Request> = {
 *   async caller({ headers }) {
 *     const session = await sessions.find(headers.get("cookie"));
 *     return session === undefined ? null : { id: session.userId, budget: { amount: "5", period: "month" } };
 *   },
 * };
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [],
 * });
 * export default { fetch: (request: Request) => gateway.fetch(request, options) };
 * ```
 */
export interface MountOptions<HostRequest> {
  /**
   * Finds the app's own signed-in user, so that the pages of the app need no API key. Default: every request needs a key.
   */
  readonly caller?: FindUser<HostRequest> | undefined;
}

/**
 * A request, as a host passes it to the gateway. A Web `Request` already has this shape. `@calotype/node` gives a socket's
 * request the same shape without creating Web objects.
 */
export interface GatewayRequest {
  readonly method: string;
  /**
   * The whole path, as an absolute URL (`https://host/ai/v1/…`) or from the root (`/ai/v1/…`). Its query is read only for
   * the links of `results`, and ignored everywhere else.
   */
  readonly url: string;
  /**
   * Whether the client's connection is encrypted. It is read for links to the gateway if `url` is not absolute, together with
   * the header `Host`. Default `false`.
   */
  readonly isEncrypted?: boolean | undefined;
  /**
   * The path below which the host passes every request to the gateway, such as `/ai`, or `/` for all paths. If
   * absent, the host has its own routes, and calls the gateway for each request to find out whether the path is the
   * gateway's.
   */
  readonly mountPath?: string | undefined;
  readonly headers: HeaderReader;
  /** The bytes of the body in order, or `null` if there is none. Read at most once. */
  readonly body: AsyncIterable<Uint8Array> | null;
  /**
   * The result of a body parser of the host that ran before the gateway and read the bytes: parsed JSON, a string, or
   * the bytes. `undefined` if the bytes are still in `body`.
   */
  readonly parsedBody?: unknown;
  /** True if something before the gateway read the bytes and left no result. */
  readonly bodyConsumed?: boolean;
  /**
   * Tells whether the client has disconnected. It is read before each attempt; a provider call that was sent continues.
   * While a body is sent, the host reports a disconnect by calling `return()` of the body.
   */
  readonly signal: ClientSignal;
  /**
   * Returns the address at the other end of the socket, such as `127.0.0.1` or `::1`. Absent: the host does not know it. The
   * gateway does not use it; a page such as that of `@calotype/studio` does.
   */
  clientAddress?(): string | undefined;
  /** The HTTP version of the request, such as `1.1`. Absent: the host does not know it. It is used like the address. */
  readonly httpVersion?: string | undefined;
  /**
   * True if the host encodes responses itself, and would encode one a second time that has the header `content-encoding`, as
   * Next.js and Workers do. A response then has no such header. Default `false`.
   */
  readonly encodesResponses?: boolean | undefined;
  /** The caller of the request, if the host has found out itself who it is: an API key is then not read. */
  readonly caller?: Caller | undefined;
  /**
   * Finds the signed-in user of the request, see {@link FindUser}. It is called at most once, before the body is read: only for a
   * request without a key header, and only if no page of another site can have sent it. `caller` takes precedence.
   */
  readonly findUser?: (() => ReturnType<FindUser<never>>) | undefined;
  /** Preferences for this request, in place of the caller's own. */
  readonly preferences?: Preferences | undefined;
  /** Keeps the host alive for work that continues after the response, if the host needs that. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** The body of a response: complete, or produced while it is read. */
export type GatewayResponseBody = string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>;

/** The gateway's response, which the host writes. Header names are in lower case. */
export interface GatewayResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: GatewayResponseBody;
  /**
   * Registers a listener for a client that has read nothing of a streamed `body` for `responseIdleSeconds`. The
   * listener closes the client's connection and returns `false`: the gateway then treats the client as disconnected,
   * and further reads of the body fail with the given error. The listener returns `true` if the client cannot read
   * yet, because its pipelined response waits for an earlier one; the time limit then starts again. `onIdle` is
   * absent for a complete body.
   */
  readonly onIdle?: ((listener: (error: Error) => boolean) => void) | undefined;
}
