import type { AttemptFailure } from "../families/failure.js";

/** A failed attempt on a channel. It has no prompt and no key. */
export interface ChannelError {
  /** When the attempt ended. ISO 8601, UTC. */
  readonly time: string;
  /** The kind of the failure, as in `reason` of the channel's status. */
  readonly kind: string;
  /** The HTTP status of the upstream response, if one came. */
  readonly status?: number;
  /** The provider's error code, if it sent one. */
  readonly code?: string;
  /** The provider's message, or the error of the connection: at most 300 characters. Keys are redacted. */
  readonly message?: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** If the channel has several keys: the index in `apiKey`, from 0. */
  readonly key?: number;
  /** The id of the request. Absent: the attempt was made by `gateway.probeChannel`. */
  readonly requestId?: string;
}

/**
 * The attempts on a channel that failed, or whose response began, in five minutes. A response that breaks off later is a
 * failure of the same five minutes.
 */
export interface AttemptCounts {
  /** The begin of the five minutes. ISO 8601, UTC. */
  readonly from: string;
  readonly attempts: number;
  /** The attempts that failed. A request that the provider refused because of its content is not a failure. */
  readonly failures: number;
}

/** Remembers the attempts of the last hour and the last errors of each channel, in this process. */
export interface AttemptHistory {
  /** Counts an attempt that succeeded, or that failed because of the request's content. */
  succeeded(channel: string): void;
  /**
   * Counts an attempt that failed.
   *
   * @param countedAt when the attempt was counted as a success, in milliseconds since 1970. `undefined` if it was not.
   */
  failed(channel: string, failure: FailedAttempt, countedAt?: number): void;
  /** Returns the last errors, and the last hour in parts of five minutes: see `ChannelStatus`. */
  describe(channel: string): {
    readonly errors: readonly ChannelError[];
    readonly lastHour: readonly AttemptCounts[];
  };
  /** Forgets all other channels, after the options have changed. */
  retain(channels: readonly string[]): void;
}

/** What is remembered of a failed attempt. Keys are redacted, and there is no prompt. */
export interface FailedAttempt extends Pick<ChannelError, "upstreamModel" | "requestId" | "key"> {
  readonly failure: Pick<AttemptFailure, "kind" | "status" | "code" | "message">;
}

const MAX_ERRORS = 5;
const MAX_MESSAGE_LENGTH = 300;
const MAX_CODE_LENGTH = 128;
const PART_MS = 300_000;
const PARTS = 12;

/** @param now milliseconds since 1970 */
export function createAttemptHistory(now: () => number): AttemptHistory {
  const entries = new Map<string, ChannelHistory>();

  const entryOf = (channel: string): ChannelHistory => {
    let entry = entries.get(channel);
    if (entry === undefined) {
      const parts = Array.from({ length: PARTS }, () => ({ number: 0, attempts: 0, failures: 0 }));
      entry = { parts, errors: [] };
      entries.set(channel, entry);
    }
    return entry;
  };
  return {
    succeeded(channel) {
      const part = findPart(entryOf(channel), now());
      if (part !== undefined) part.attempts++;
    },
    failed(channel, attempt, countedAt) {
      const entry = entryOf(channel);
      const at = now();
      if (countedAt !== undefined) countFailure(entry, countedAt);
      else {
        const part = findPart(entry, at);
        if (part !== undefined) {
          part.attempts++;
          part.failures++;
        }
      }
      entry.errors.unshift(toError(attempt, at));
      entry.errors.length = Math.min(entry.errors.length, MAX_ERRORS);
    },
    describe(channel) {
      const entry = entries.get(channel);
      const newest = Math.floor(now() / PART_MS);
      const lastHour = Array.from({ length: PARTS }, (_, index) => {
        const number = newest - PARTS + 1 + index;
        const part = entry?.parts.find((other) => other.number === number);
        return {
          from: new Date(number * PART_MS).toISOString(),
          attempts: part?.attempts ?? 0,
          failures: part?.failures ?? 0,
        };
      });
      return { errors: [...(entry?.errors ?? [])], lastHour };
    },
    retain(channels) {
      const kept = new Set(channels);
      for (const channel of entries.keys()) if (!kept.has(channel)) entries.delete(channel);
    },
  };
}

/** What is remembered of one channel. An attempt allocates nothing. */
interface ChannelHistory {
  /** A ring: a part is at its number modulo the length. */
  readonly parts: readonly Period[];
  /** The newest first. */
  readonly errors: ChannelError[];
}

/** Five minutes. Its number is that of the five minutes since 1970. */
interface Period {
  number: number;
  attempts: number;
  failures: number;
}

/** Returns the present part, and clears it if it has the counts of an hour ago. `undefined` for a clock before 1970. */
function findPart({ parts }: ChannelHistory, now: number): Period | undefined {
  const number = Math.floor(now / PART_MS);
  const part = parts[number % PARTS];
  if (part === undefined || part.number === number) return part;
  part.number = number;
  part.attempts = 0;
  part.failures = 0;
  return part;
}

/** Counts the failure of an attempt where the attempt was counted, unless that was more than an hour ago. */
function countFailure({ parts }: ChannelHistory, countedAt: number): void {
  const number = Math.floor(countedAt / PART_MS);
  const part = parts.find((other) => other.number === number);
  if (part !== undefined) part.failures++;
}

function toError({ failure, upstreamModel, key, requestId }: FailedAttempt, at: number): ChannelError {
  const { kind, status, code, message } = failure;
  return {
    time: new Date(at).toISOString(),
    kind,
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code: code.slice(0, MAX_CODE_LENGTH) }),
    ...(message !== undefined && message !== "" && { message: message.slice(0, MAX_MESSAGE_LENGTH) }),
    upstreamModel,
    ...(key !== undefined && { key }),
    ...(requestId !== undefined && { requestId }),
  };
}
