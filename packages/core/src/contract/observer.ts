import type { Logger } from "../logger.js";
import type { ChannelState } from "./channel-state.js";
import type { AttemptObserver, CallObserver, StartedAttempt, StartedCall } from "./telemetry.js";

/** What observes a call inside the gateway: it does not throw. */
export type SafeCallObserver = Required<Omit<CallObserver, "logFields" | "link" | "attemptStarted">> &
  Pick<CallObserver, "logFields" | "link"> & {
    attemptStarted(attempt: StartedAttempt): SafeAttemptObserver;
    /** Ends the observation of a call that has neither a response nor a hold. */
    close(): void;
  };

/** What observes an attempt inside the gateway: it does not throw. */
export type SafeAttemptObserver = Required<Omit<AttemptObserver, "headers" | "taskAccepted">> &
  Pick<AttemptObserver, "headers">;

/** The telemetry of a gateway. */
export interface CallObservation {
  /** Returns `undefined` if nothing observes the call. */
  start(call: StartedCall): SafeCallObserver | undefined;
  watchChannels(describe: () => readonly ChannelState[]): () => void;
  /** A logger that adds the observers' fields to each line with the `requestId` of a call in progress. */
  readonly logger: Logger;
}
