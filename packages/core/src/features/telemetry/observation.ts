import type { HoldEndReport } from "../../billing/records.js";
import type { CallObservation, SafeAttemptObserver, SafeCallObserver } from "../../contract/observer.js";
import type {
  AttemptDetail,
  AttemptObserver,
  CallObserver,
  ObservedResponse,
  SkippedRoute,
  StartedAttempt,
  Telemetry,
} from "../../contract/telemetry.js";
import type { GatewayError } from "../../errors.js";
import type { Logger } from "../../logger.js";
import type { AttemptRecord } from "../../types.js";

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

/** A model can have hundreds of channels. */
const MAX_SKIPPED = 16;

/** A link is stored with its task or hold. */
const MAX_LINK_LENGTH = 512;

class GuardedCall implements SafeCallObserver {
  readonly logFields: CallObserver["logFields"];
  readonly link: CallObserver["link"];
  readonly #observers: readonly CallObserver[];
  readonly #guard: Guard;
  readonly #forget: () => void;
  /** True until the response begins, if there will be one. */
  #awaitsResponse: boolean;
  #hasOpenHold = false;
  readonly #skipped = new Set<string>();
  #hasImage = false;
  #hasLeft = false;
  #hasEnded = false;

  constructor(observers: readonly CallObserver[], guard: Guard, hasClient: boolean, forget: () => void) {
    this.#observers = observers;
    this.#guard = guard;
    this.#forget = forget;
    this.#awaitsResponse = hasClient;
    this.logFields = guard(() => mergeFields(observers));
    this.link = guard(() =>
      observers.find(({ link }) => link !== undefined)?.link?.slice(0, MAX_LINK_LENGTH),
    );
  }

  callerKnown(caller: string): void {
    this.#each((observer) => observer.callerKnown?.(caller));
  }

  modelKnown(model: { readonly name: string; readonly entry: string }): void {
    this.#each((observer) => observer.modelKnown?.(model));
  }

  waited(ms: number): void {
    this.#each((observer) => observer.waited?.(ms));
  }

  held(amount: string | null): void {
    this.#hasOpenHold = true;
    this.#each((observer) => observer.held?.(amount));
  }

  promptKnown(prompt: string): void {
    this.#each((observer) => observer.promptKnown?.(prompt));
  }

  routeSkipped(skipped: SkippedRoute): void {
    const { channel, key, scope } = skipped;
    const name = JSON.stringify([channel, key, scope]);
    if (this.#skipped.has(name) || this.#skipped.size >= MAX_SKIPPED) return;
    this.#skipped.add(name);
    this.#each((observer) => observer.routeSkipped?.(skipped));
  }

  clientLeft(): void {
    if (this.#hasLeft || this.#hasEnded) return;
    this.#hasLeft = true;
    this.#each((observer) => observer.clientLeft?.());
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

  jobAccepted(id: string): void {
    this.#each((observer) => observer.jobAccepted?.(id));
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
