import type {
  AdmissionDecision,
  IdempotencyClaim,
  IdempotencyEnding,
  StoredResponse,
} from "./admission-store.js";
import { type AgeingMap, createAgeingMap } from "./ageing-map.js";
import { createSweeper } from "./sweeper.js";

/** How much of the answers to requests with an idempotency key is remembered. */
export interface ResponseBounds {
  /** Past so many requests that were answered, the oldest is forgotten: a repeat of it runs again. */
  readonly maxResponses: number;
  /** Past so many bytes of memory, of the oldest answer only a mark stays: a repeat of it is refused. */
  readonly maxResponseBytes: number;
}

type Repeat = Extract<AdmissionDecision, { kind: "replay" | "not_replayable" | "conflict" | "running" }>;

/** Which idempotency keys are in use, and what was answered under them, in this process. */
export interface ClaimedResponses {
  /** What a request with this key gets in place of a run; `undefined` when the key is free. */
  find(claim: IdempotencyClaim, now: number): Repeat | undefined;
  /** Takes a key that is free for the request of this id. */
  claim(claim: IdempotencyClaim, id: string, now: number): void;
  /** Ends the claim of this request. A claim that lapsed counts as long as nobody else took the key. */
  end(claim: IdempotencyClaim, id: string, ending: IdempotencyEnding, now: number): void;
  /** Forgets some of what has lapsed. */
  sweep(steps: number, now: number): void;
  /** Keys that are remembered. */
  readonly size: number;
  /** What the answers take, see {@link ResponseBounds.maxResponseBytes}. */
  readonly bytes: number;
}

interface Claim {
  readonly id: string;
  readonly fingerprint: string;
  readonly until: number;
}

interface Ended {
  readonly fingerprint: string;
  readonly until: number;
}

interface Lapsing {
  readonly until: number;
}

/** Claims and answers, the answers within bounds. Claims of running requests are never dropped for them. */
export function createClaimedResponses({ maxResponses, maxResponseBytes }: ResponseBounds): ClaimedResponses {
  const running = new Map<string, Claim>();
  const ended = createAgeingMap<Ended>();
  const answers = createAgeingMap<StoredResponse>();
  let bytes = 0;

  const shrink = (key: string): void => {
    const answer = answers.get(key);
    if (answer !== undefined) bytes -= sizeOf(answer);
    answers.delete(key);
  };
  const forget = (key: string): void => {
    shrink(key);
    ended.delete(key);
  };
  const keep = (key: string, answer: StoredResponse): void => {
    const size = sizeOf(answer);
    // It would push out all others and then itself.
    if (size > maxResponseBytes) return;
    answers.add(key, answer);
    bytes += size;
    dropOldestWhile(() => bytes > maxResponseBytes, answers, shrink);
  };
  const sweepRunning = createSweeper(running, hasLapsed, (key) => running.delete(key));

  return {
    find({ key, fingerprint }, now) {
      const before = findLive(ended, key, now) ?? findLive(running, key, now);
      if (before === undefined) return undefined;
      if (before.fingerprint !== fingerprint) return { kind: "conflict" };
      if (ended.get(key) !== before) return { kind: "running" };
      const answer = answers.get(key);
      return answer === undefined ? { kind: "not_replayable" } : { kind: "replay", answer };
    },
    claim({ key, fingerprint, leaseMs }, id, now) {
      forget(key);
      running.set(key, { id, fingerprint, until: now + leaseMs });
    },
    end({ key, fingerprint }, id, ending, now) {
      const owner = findLive(running, key, now)?.id ?? id;
      if (owner !== id || findLive(ended, key, now) !== undefined) return;
      running.delete(key);
      forget(key);
      if (ending.kind === "forget") return;
      ended.add(key, { fingerprint, until: now + ending.ttlMs });
      if (ending.kind === "keep") keep(key, ending.answer);
      dropOldestWhile(() => ended.size > maxResponses, ended, forget);
    },
    sweep(steps, now) {
      sweepRunning(steps, now);
      // All live equally long, so that the oldest is the first to lapse.
      for (let step = 0; step < steps; step++) {
        const key = ended.oldest;
        if (key === undefined || findLive(ended, key, now) !== undefined) return;
        forget(key);
      }
    },
    get size() {
      return running.size + ended.size;
    },
    get bytes() {
      return bytes;
    },
  };
}

function hasLapsed({ until }: Lapsing, now: number): boolean {
  return until <= now;
}

function findLive<Value extends Lapsing>(
  entries: Pick<AgeingMap<Value>, "get">,
  key: string,
  now: number,
): Value | undefined {
  const entry = entries.get(key);
  return entry === undefined || hasLapsed(entry, now) ? undefined : entry;
}

function dropOldestWhile<Value>(
  isTooMuch: (oldest: Value) => boolean,
  entries: AgeingMap<Value>,
  drop: (key: string) => void,
): void {
  for (let key = entries.oldest; key !== undefined; key = entries.oldest) {
    const value = entries.get(key);
    if (value === undefined || !isTooMuch(value)) return;
    drop(key);
  }
}

/** Two bytes a character, the most that an engine takes. */
function sizeOf({ headers, body }: StoredResponse): number {
  return (
    2 * Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, body.length)
  );
}
