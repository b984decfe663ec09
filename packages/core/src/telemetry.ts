import type { HoldEndReport } from "./billing/records.js";
import type { ChannelStatus } from "./channels/status.js";
import type { GatewayError } from "./errors.js";
import type { HeaderReader } from "./http.js";
import type { Logger } from "./logger.js";
import type { AttemptRecord, FailureScope, Operation } from "./types.js";

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
  watchChannels?(describe: () => readonly ChannelStatus[]): (() => void) | undefined;
}

/** A call that begins. */
export interface StartedCall {
  /** The request's id, which the client gets in `x-request-id`. */
  readonly id: string;
  readonly operation: Operation;
  /**
   * `request`: a client waits for its response. `task`: a task is run. `continued`: this process waits for the provider's task
   * of a process that has ended.
   */
  readonly kind: "request" | "task" | "continued";
  /** The headers of the request. `undefined` for calls without a client. */
  readonly headers?: HeaderReader | undefined;
  /** The id of the task. Only of the kind `task`. */
  readonly task?: string | undefined;
  /** `CallObserver.link` of the call that submitted the task. */
  readonly link?: string | undefined;
}

/** Observes one call. All functions are optional. None gets a prompt, an image or a key. */
export interface CallObserver {
  /** Fields for each log line about the call, such as `trace_id`. */
  readonly logFields?: Readonly<Record<string, string>> | undefined;
  /** Names the call for the run of its task, which may be in another process: at most 512 characters. */
  readonly link?: string | undefined;
  /** The caller's id is known. */
  callerKnown?(caller: string): void;
  /** The service model is known. `entry`: its key in `models`, which is a series for most names of a series. */
  modelKnown?(model: { readonly name: string; readonly entry: string }): void;
  /** The highest possible charge was set aside: a decimal string, or `null` without `billing`. */
  held?(amount: string | null): void;
  /** The call was submitted as a task. It runs as a call of its own. */
  submitted?(task: string): void;
  /** The request is about to be sent to a channel. */
  attemptStarted?(attempt: StartedAttempt): AttemptObserver | undefined;
  /** The first image has arrived from a provider, or the response with it begins. Called at most once. */
  firstImage?(): void;
  /** The call failed, before or after its response began. `code`: the `error.code` that the client gets. */
  failed?(error: GatewayError, code: string): void;
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
  /** True if an earlier process sent the request, and this attempt waits for its provider's task. */
  readonly isContinued: boolean;
}

/** Observes one attempt. All functions are optional. */
export interface AttemptObserver {
  /** Headers that are added to the request to the provider, such as `traceparent`. They replace none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Runs the attempt, for example inside a context. It must call `send` once and return its result. */
  run?<T>(send: () => T): T;
  /** The provider accepted the request as a task. */
  taskAccepted?(id: string): void;
  /** The provider was asked for the state of its task. `status` is absent if no response came. */
  polled?(poll: { readonly status?: number | undefined; readonly waitedMs: number }): void;
  /**
   * The head of the response, or all of a short response, has arrived; or the attempt failed. `code` of the record is masked.
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

/** What observes a call inside the gateway: it does not throw. */
export type SafeCallObserver = Required<Omit<CallObserver, "logFields" | "link" | "attemptStarted">> &
  Pick<CallObserver, "logFields" | "link"> & {
    attemptStarted(attempt: StartedAttempt): SafeAttemptObserver;
    /** Ends the observation of a call that has neither a response nor a hold. */
    close(): void;
  };

/** What observes an attempt inside the gateway: it does not throw. */
export type SafeAttemptObserver = Required<Omit<AttemptObserver, "headers">> &
  Pick<AttemptObserver, "headers">;

/** The telemetry of a gateway. */
export interface CallObservation {
  /** Returns `undefined` if nothing observes the call. */
  start(call: StartedCall): SafeCallObserver | undefined;
  watchChannels(describe: () => readonly ChannelStatus[]): () => void;
  /** A logger that adds the observers' fields to each line with the `requestId` of a call in progress. */
  readonly logger: Logger;
}

/** Combines several telemetries, and guards the gateway against what they throw. */
export function createObservation(telemetries: readonly Telemetry[], logger: Logger): CallObservation {
  /** The observers of the calls in progress, by request id, for the fields of log lines. */
  const open = new Map<string, SafeCallObserver>();
  let hasFailed = false;
  const guard: Guard = (run) => {
    try {
      return run();
    } catch (err) {
      if (!hasFailed) logger.error({ err }, "The telemetry failed; further failures are not logged.");
      hasFailed = true;
      return undefined;
    }
  };
  const addFields = (fields: object): object => {
    const id: unknown = Reflect.get(fields, "requestId");
    const added = typeof id === "string" ? open.get(id)?.logFields : undefined;
    return added === undefined ? fields : { ...fields, ...added };
  };
  return {
    start(call) {
      const observers = telemetries
        .map((telemetry) => guard(() => telemetry.callStarted(call)))
        .filter((observer) => observer !== undefined);
      if (observers.length === 0) return undefined;
      const observed = new GuardedCall(observers, guard, call.kind === "request", () => {
        if (open.get(call.id) === observed) open.delete(call.id);
      });
      open.set(call.id, observed);
      return observed;
    },
    watchChannels(describe) {
      const ends = telemetries.map((telemetry) => guard(() => telemetry.watchChannels?.(describe)));
      return () => {
        for (const end of ends) guard(() => end?.());
      };
    },
    logger: {
      warn: (fields, message) => logger.warn(addFields(fields), message),
      error: (fields, message) => logger.error(addFields(fields), message),
      ...(logger.info !== undefined && {
        info: (fields, message) => logger.info?.(addFields(fields), message),
      }),
    },
  };
}

type Guard = <T>(run: () => T) => T | undefined;

class GuardedCall implements SafeCallObserver {
  readonly logFields: CallObserver["logFields"];
  readonly link: CallObserver["link"];
  readonly #observers: readonly CallObserver[];
  readonly #guard: Guard;
  readonly #forget: () => void;
  /** True until the response begins, if there is to be one. */
  #awaitsResponse: boolean;
  #hasOpenHold = false;
  #hasImage = false;
  #hasEnded = false;

  constructor(observers: readonly CallObserver[], guard: Guard, hasClient: boolean, forget: () => void) {
    this.#observers = observers;
    this.#guard = guard;
    this.#forget = forget;
    this.#awaitsResponse = hasClient;
    this.logFields = guard(() => mergeFields(observers));
    this.link = guard(() => observers.find(({ link }) => link !== undefined)?.link);
  }

  callerKnown(caller: string): void {
    this.#each((observer) => observer.callerKnown?.(caller));
  }

  modelKnown(model: { readonly name: string; readonly entry: string }): void {
    this.#each((observer) => observer.modelKnown?.(model));
  }

  held(amount: string | null): void {
    this.#hasOpenHold = true;
    this.#each((observer) => observer.held?.(amount));
  }

  submitted(task: string): void {
    this.#each((observer) => observer.submitted?.(task));
  }

  attemptStarted(attempt: StartedAttempt): SafeAttemptObserver {
    const observers = this.#observers
      .map((observer) => this.#guard(() => observer.attemptStarted?.(attempt)))
      .filter((observer) => observer !== undefined);
    return new GuardedAttempt(observers, this.#guard);
  }

  firstImage(): void {
    if (this.#hasImage) return;
    this.#hasImage = true;
    this.#each((observer) => observer.firstImage?.());
  }

  failed(error: GatewayError, code: string): void {
    this.#each((observer) => observer.failed?.(error, code));
  }

  responded(response: ObservedResponse): void {
    this.#awaitsResponse = false;
    this.#each((observer) => observer.responded?.(response));
    this.#endIfOver();
  }

  holdEnded(end: HoldEndReport): void {
    this.#hasOpenHold = false;
    this.#each((observer) => observer.holdEnded?.(end));
    this.#endIfOver();
  }

  ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#each((observer) => observer.ended?.());
    this.#forget();
  }

  close(): void {
    this.#awaitsResponse = false;
    this.#endIfOver();
  }

  #endIfOver(): void {
    if (!this.#awaitsResponse && !this.#hasOpenHold) this.ended();
  }

  #each(tell: (observer: CallObserver) => void): void {
    for (const observer of this.#observers) this.#guard(() => tell(observer));
  }
}

function mergeFields(observers: readonly CallObserver[]): CallObserver["logFields"] {
  const all = observers.map(({ logFields }) => logFields).filter((fields) => fields !== undefined);
  return all.length === 0 ? undefined : Object.assign({}, ...all);
}

class GuardedAttempt implements SafeAttemptObserver {
  readonly headers: AttemptObserver["headers"];
  readonly #observers: readonly AttemptObserver[];
  readonly #guard: Guard;
  #hasEnded = false;

  constructor(observers: readonly AttemptObserver[], guard: Guard) {
    this.#observers = observers;
    this.#guard = guard;
    this.headers = guard(() => observers.find(({ headers }) => headers !== undefined)?.headers);
  }

  /** The attempt is sent once, even if an observer's `run` throws before or after it. */
  run<T>(send: () => T): T {
    let sent: { readonly value: T } | undefined;
    const sendOnce = (): T => (sent ??= { value: send() }).value;
    const runAll = this.#observers.reduce<() => T>(
      (inner, observer) => (observer.run === undefined ? inner : () => observer.run?.(inner) ?? inner()),
      sendOnce,
    );
    this.#guard(runAll);
    return sendOnce();
  }

  taskAccepted(id: string): void {
    this.#each((observer) => observer.taskAccepted?.(id));
  }

  polled(poll: Parameters<SafeAttemptObserver["polled"]>[0]): void {
    this.#each((observer) => observer.polled?.(poll));
  }

  responded(record: AttemptRecord, detail: AttemptDetail): void {
    this.#each((observer) => observer.responded?.(record, detail));
  }

  failed(record: AttemptRecord, detail: AttemptDetail): void {
    this.#each((observer) => observer.failed?.(record, detail));
  }

  ended(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#each((observer) => observer.ended?.());
  }

  #each(tell: (observer: AttemptObserver) => void): void {
    for (const observer of this.#observers) this.#guard(() => tell(observer));
  }
}
