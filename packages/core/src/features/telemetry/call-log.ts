import type { AttemptObserver, CallObserver, Telemetry } from "../../contract/telemetry.js";
import type { Logger } from "../../logger.js";
import type { OptionsProblem } from "../../options/options.js";

/** The history of calls is written to `logger.info`, which a logger may lack. */
export function* checkCallLog({
  logCalls,
  logger,
}: {
  readonly logCalls?: boolean | undefined;
  readonly logger?: Logger | undefined;
}): Iterable<OptionsProblem> {
  if (logCalls === true && logger !== undefined && typeof logger.info !== "function") {
    yield { path: "logCalls", message: "needs a logger with the function info" };
  }
}

/**
 * Writes the history of each call to the log, for the option `logCalls`: its hold, its attempts with their cooldowns, the
 * charge and the response. Each line has the request's id.
 */
export function createCallLog(write: NonNullable<Logger["info"]>, now: () => number): Telemetry {
  return {
    callStarted({ id, operation, kind, task }) {
      const beganAt = now();
      const facts: Record<string, unknown> = { operation };
      if (task !== undefined) facts["task"] = task;
      const log = (fields: object, message: string): void => write({ requestId: id, ...fields }, message);
      return {
        callerKnown: (caller) => void (facts["caller"] = caller),
        modelKnown: ({ name }) => void (facts["model"] = name),
        submitted: (submitted) => log({ task: submitted }, "A task was accepted."),
        held: (amount) => log({ amount, sinceStartMs: now() - beganAt }, "A hold was made."),
        routeSkipped: (skipped) =>
          log({ ...skipped, until: toIso(skipped.until) }, "A channel was skipped because it cools down."),
        clientLeft: () => log({ sinceStartMs: now() - beganAt }, "The client disconnected."),
        attemptStarted: (attempt) => observeAttempt(attempt, log),
        firstImage: () => void (facts["firstImageMs"] = now() - beganAt),
        // Not its message, in which a provider may quote the prompt.
        failed({ limit }, code) {
          facts["errorCode"] = code;
          if (limit !== undefined) facts["limit"] = limit;
        },
        responded: ({ status, stream }) =>
          log({ status, stream, sinceStartMs: now() - beganAt }, "A response begins."),
        holdEnded({ state, record }) {
          if (record === undefined) return log({ state }, "A hold ended without a charge.");
          const { images, charge, cost, usage, channel, errorCode, upstreamRequestId } = record;
          log({ images, charge, cost, usage, channel, errorCode, upstreamRequestId }, "A hold was settled.");
        },
        ended: () => log({ kind, ...facts, durationMs: now() - beganAt }, "A call ended."),
      } satisfies CallObserver;
    },
  };
}

const toIso = (ms: number): string => new Date(ms).toISOString();

function observeAttempt(
  { channel, key, upstreamModel, isProbe, call }: Parameters<NonNullable<CallObserver["attemptStarted"]>>[0],
  log: (fields: object, message: string) => void,
): AttemptObserver {
  let polls = 0;
  let waitedMs = 0;
  const names = {
    channel,
    key,
    upstreamModel,
    ...(call !== undefined && { call }),
    ...(isProbe && { isProbe }),
  };
  const tell = (message: string): NonNullable<AttemptObserver["responded"]> => {
    return ({ status, code, durationMs }, { kind, upstreamRequestId, cooldown }) => {
      const asked = polls === 0 ? {} : { polls, pollWaitMs: waitedMs };
      const failure = kind === undefined ? {} : { reason: kind, code };
      log({ ...names, status, ...failure, upstreamRequestId, durationMs, ...asked }, message);
      if (cooldown === undefined) return;
      const { scope, until } = cooldown;
      if (until === undefined) log({ channel, key, scope }, "A cooldown ended.");
      else log({ channel, key, scope, until: toIso(until) }, "A cooldown began.");
    };
  };
  return {
    jobAccepted: (id) => log({ ...names, upstreamTask: id }, "A provider accepted a job."),
    polled(poll) {
      polls += 1;
      waitedMs += poll.waitedMs;
    },
    responded: tell("An attempt got its result."),
    failed: tell("A response failed after its head."),
  };
}
