import type { ModelDetails } from "@calotype/core/billing";

/** Everything that happens to a gateway, up to its end. It depends on the seed and the index only. */
export interface Scenario {
  /** The family of each model that is requested. */
  readonly models: Readonly<Record<string, string>>;
  readonly prices: Readonly<Record<string, ModelDetails>>;
  readonly onLost: "release" | "charge";
  /** Who makes the links of stored images; `function`: the store is a function. `none`: they are not stored. */
  readonly results: "none" | "gateway" | "store" | "function";
  readonly storesNative: boolean;
  readonly afterImage: "none" | "looks" | "changes" | "refuses" | "throws";
  /** The default format of streams on `/v1`. With `openai` every model streams. */
  readonly streamFormat: "native" | "openai";
  readonly heartbeatSeconds: number | undefined;
  /** The room for images that wait for others, in bytes. */
  readonly maxHeldImageBytes: number;
  readonly showCharge: boolean;
  /** Whether the caller has limits that some scenarios reach. */
  readonly hasLimits: boolean;
  readonly calls: readonly ClientCall[];
  /** What each provider does, by the host name of its channel and, for polls of jobs, `poll`. Used in turn. */
  readonly replies: Readonly<Record<string, readonly Reply[]>>;
  /** The responses to downloads of results. Used in turn. */
  readonly downloads: readonly Reply[];
  /** The store call that rejects, counted from 0. Absent: all work. */
  readonly failingStoreCall: number | undefined;
  /** When the process dies. Another one then continues with the same stores. */
  readonly diesAtMs: number | undefined;
}

/** A request of a client. */
export interface ClientCall {
  readonly atMs: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Where the body is cut into chunks. */
  readonly cuts: readonly number[];
  /** How long after its beginning the client disconnects. Absent: it reads to the end. */
  readonly leavesAfterMs: number | undefined;
  /** What a client does that has submitted a task. */
  readonly follows: "waits" | "watches" | "cancels" | "lists";
}

/** What a provider does with a call. */
export interface Reply {
  /** The time until the head of the response, in milliseconds. */
  readonly afterMs: number;
  /** There is no response. */
  readonly noResponse?: FailureReason | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly { readonly afterMs: number; readonly bytes: Buffer }[];
  /** The connection ends after the last chunk, before the response is complete. */
  readonly breaks?: FailureReason | undefined;
}

/** How a connection fails. */
export type FailureReason = "unreachable" | "timeout" | "broken";
