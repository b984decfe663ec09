import type { HoldEndReport } from "../billing/records.js";
import type { GatewayError } from "../errors.js";
import type { HeaderReader } from "../http.js";
import type { AttemptRecord, FailureScope, Operation } from "../types.js";
import type { ChannelState } from "./channel-state.js";

/**
 * Observes calls, for traces and metrics. `@calotype/opentelemetry` is one. What an observer throws is logged once, and
 * changes no response. The functions run while a call is served, so they must be quick.
 */
export interface Telemetry {
  /** Called when a call begins. Returns what observes it, or `undefined` if it is not observed. */
  callStarted(call: StartedCall): CallObserver | undefined;
  /**
   * Called once, when the gateway was created. `describe` returns the state of the channels at the moment, without I/O. The
   * function that is returned is called when the gateway has closed.
   */
  watchChannels?(describe: () => readonly ChannelState[]): (() => void) | undefined;
}

/** A call that begins. */
export interface StartedCall {
  /** The request's id, which the client gets in `x-request-id`. */
  readonly id: string;
  readonly operation: Operation;
  /**
   * `request`: a client waits for its response. `task`: a task is run. `continued`: this process waits for the provider's job
   * of a process that has ended. It has the `id` of the request.
   */
  readonly kind: "request" | "task" | "continued";
  /** The headers of the request. `undefined` for calls without a client. */
  readonly headers?: HeaderReader | undefined;
  /** The id of the task. Only of the kind `task`. */
  readonly task?: string | undefined;
  /** `CallObserver.link` of the call that submitted the task, or whose process has ended. */
  readonly link?: string | undefined;
}

/** Observes one call. All functions are optional. None gets an image or a key, and only `promptKnown` gets the prompt. */
export interface CallObserver {
  /** Fields for each log line about the call, such as `trace_id`. */
  readonly logFields?: Readonly<Record<string, string>> | undefined;
  /** Names the call for what goes on in another process, such as the run of its task: at most 512 characters. */
  readonly link?: string | undefined;
  /** The caller's id is known. */
  callerKnown?(caller: string): void;
  /** The service model is known. `entry`: its key in `models`, which is a series for most names of a series. */
  modelKnown?(model: { readonly name: string; readonly entry: string }): void;
  /**
   * The prompt is known. Do not record it unless the operator has asked for that: prompts are the data of end users. Not
   * called for the run of a task or for a continued call.
   */
  promptKnown?(prompt: string): void;
  /** The call has waited for its limits, and was then admitted or refused. */
  waited?(ms: number): void;
  /** The highest possible charge was set aside: a decimal string, or `null` without `billing`. */
  held?(amount: string | null): void;
  /** The call was submitted as a task. It runs as a call of its own. */
  submitted?(task: string): void;
  /**
   * A channel, or one of its keys, is not used for the next attempt because it cools down or is paused. Called once for each of them, and
   * at most 16 times.
   */
  routeSkipped?(skipped: SkippedRoute): void;
  /** The request is about to be sent to a channel. */
  attemptStarted?(attempt: StartedAttempt): AttemptObserver | undefined;
  /** The first image has arrived from a provider, or the response with it begins. Called at most once. */
  firstImage?(): void;
  /** The call failed, before or after its response began. `code`: the `error.code` that the client gets. */
  failed?(error: GatewayError, code: string): void;
  /**
   * The client disconnected before it had its response. A request that was sent to a provider goes on. Called at most once,
   * and not after `ended`.
   */
  clientLeft?(): void;
  /** The client gets the response from now on. */
  responded?(response: ObservedResponse): void;
  /** The hold has ended. */
  holdEnded?(end: HoldEndReport): void;
  /** Nothing more comes. Called once: after the response began and the hold has ended. */
  ended?(): void;
}

/** The response to a call. */
export interface ObservedResponse {
  readonly status: number;
  /** True if the response is a stream, which begins now. */
  readonly stream: boolean;
}

/** A channel or key that an attempt does not use. */
export interface SkippedRoute {
  /** The id of the channel. */
  readonly channel: string;
  /** The index of the key in the channel's `apiKey`, from 0. Absent if the whole channel cools down. */
  readonly key?: number | undefined;
  /** What cools down: the channel, the key, or the model with this key. A paused channel has `channel`. */
  readonly scope: Exclude<FailureScope, "request">;
  /** The kind of the failure that began the cooldown, such as `rate`, or `paused`: an operator has paused the channel. */
  readonly reason: string;
  /** The end of the cooldown or pause, in milliseconds since 1970. A pause without an end has one in the year 9999. In the past while another call probes the channel. */
  readonly until: number;
  /** True if another call finds out at the moment whether it works again. */
  readonly isProbed: boolean;
}

/** An attempt that begins. */
export interface StartedAttempt {
  readonly channel: string;
  /** The index of the key in the channel's `apiKey`, from 0. */
  readonly key: number;
  /** The channel's family, and its dialect if it has one. */
  readonly family: string;
  readonly dialect?: string | undefined;
  /** The host of the channel's base URL. */
  readonly host: string;
  /** The channel's name of the model. */
  readonly upstreamModel: string;
  /** True if the attempt finds out whether a channel, key or model works again after a cooldown. */
  readonly isProbe: boolean;
  /** The index of the upstream call, if the request takes several. */
  readonly call?: number | undefined;
  /** True if an earlier process sent the request, and this attempt waits for its provider's job. */
  readonly isContinued: boolean;
}

/** Observes one attempt. All functions are optional. */
export interface AttemptObserver {
  /** Headers that are added to the request to the provider, such as `traceparent`. They replace none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Runs the attempt, for example inside a context. It must call `send` once and return its result. */
  run?<T>(send: () => T): T;
  /** The provider accepted the request as a job. */
  jobAccepted?(id: string): void;
  /** @deprecated Use {@link jobAccepted}. */
  taskAccepted?(id: string): void;
  /** The provider was asked for the state of its job. `status` is absent if no response came. */
  polled?(poll: { readonly status?: number | undefined; readonly waitedMs: number }): void;
  /**
   * The head of the response, or all of a short response, has arrived; or the attempt failed. `code` of the record is redacted.
   */
  responded?(record: AttemptRecord, detail: AttemptDetail): void;
  /** The response failed after its head. */
  failed?(record: AttemptRecord, detail: AttemptDetail): void;
  /** Nothing more comes. Called once. */
  ended?(): void;
}

/** What is known of an attempt besides its record. */
export interface AttemptDetail {
  /** What kind of failure it was, such as `rate` or `timeout`. Absent on success. */
  readonly kind?: string | undefined;
  /** The provider's id of the request. */
  readonly upstreamRequestId?: string | undefined;
  /** True if the whole response has arrived. Default false. */
  readonly isComplete?: boolean | undefined;
  /** The cooldown that the attempt began, extended or ended. */
  readonly cooldown?: CooldownChange | undefined;
}

/** A cooldown began or became longer (`until`, in milliseconds since 1970), or ended. */
export interface CooldownChange {
  readonly scope: FailureScope;
  readonly until?: number | undefined;
}
