import type {
  AdmissionDecision,
  AdmissionRequest,
  ChannelPause,
  Cooldown,
  Counts,
  CountsRequest,
  IdempotencyOutcome,
  Turn,
  WindowState,
} from "@calotype/core/stores";
import { isReplyError, type RunScript } from "./client.js";
import { type KeyNames, toSafeString } from "./keys.js";
import type { RunningRequest } from "./renew-leases.js";
import {
  ADMIT,
  ADMIT_IN_TURN,
  FINISH,
  GIVE_UP,
  PROBE,
  READ_COUNTS,
  RENEW,
  type Script,
  SET_COOLDOWN,
} from "./scripts.js";
import {
  findState,
  type StateList,
  toCooldownValue,
  toFinishedValue,
  toPauseField,
  toPauseValue,
  toRepeatDecision,
  toRunningValue,
} from "./values.js";

/** What the store asks of Redis. Each command is one round trip. A command rejects with the error of the client. */
export interface Commands {
  /** @throws UnreadableError for a reply or a value of another version */
  admit(request: AdmissionRequest, turn?: Turn): Promise<AdmissionDecision>;
  giveUpTurn(request: AdmissionRequest): Promise<void>;
  finish(request: AdmissionRequest, outcome: IdempotencyOutcome): Promise<void>;
  /** @throws UnreadableError for a reply or a value of another program */
  readCounts(request: CountsRequest): Promise<Counts>;
  /** Extends the leases of requests of this caller. */
  renew(caller: string, batch: readonly RunningRequest[]): Promise<void>;
  setCooldown(channel: string, cooldown: Cooldown | undefined): Promise<void>;
  setPause(channel: string, pause: ChannelPause | undefined): Promise<void>;
  /** Resolves if Redis accepts writes under the keys of this caller, or without a caller under those of cooldowns. */
  probe(caller: string | undefined): Promise<void>;
  /** The cooldowns and pauses of the last reply. */
  readonly lastState: StateList;
}

export interface CommandOptions {
  readonly run: RunScript;
  readonly keys: KeyNames;
  /** A larger response is not stored. */
  readonly maxResponseBytes: number;
  /** The longest lease of a slot or an idempotency key without a renewal. */
  readonly leaseMs: number;
}

/** A reply or a value in Redis is from another program, or from a newer version of this package. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

export function createCommands({ run, keys, maxResponseBytes, leaseMs }: CommandOptions): Commands {
  let lastState: StateList = [];
  // On a cluster one script cannot use two hash tags. The cooldowns are then a second script, sent at the same time.
  let isSplit = false;

  const runAdmit = async (
    request: AdmissionRequest,
    { script, names, args }: AdmitInput,
  ): Promise<unknown[]> => {
    if (!needsState(request)) return toArray(await run(script, names, args));
    if (!isSplit) {
      try {
        return toArray(await run(script, [...names, keys.cooldowns], args));
      } catch (error) {
        if (!isReplyError(error, "CROSSSLOT")) throw error;
        isSplit = true;
      }
    }
    const [reply, others] = await Promise.all([
      run(script, names, args),
      run(ADMIT, [keys.cooldowns], ["0", "0", "0"]),
    ]);
    const decided = toArray(reply);
    if (String(decided[0]) !== "admitted") return decided;
    const [, now, cooldowns] = toArray(others);
    return decided.with(1, now).with(2, cooldowns);
  };

  const setState = async (field: string, value: string): Promise<void> => {
    await run(SET_COOLDOWN, [keys.cooldowns], [field, value]);
  };

  return {
    async admit(request, turn) {
      const input = toAdmitInput(keys, request, leaseMs);
      const reply = await runAdmit(
        request,
        turn === undefined ? input : inTurn(keys, request, { input, turn }),
      );
      try {
        const { decision, state } = readReply(reply, request);
        if (state !== undefined) lastState = state;
        return decision;
      } catch (cause) {
        throw new UnreadableError(UNREADABLE, { cause });
      }
    },

    async giveUpTurn({ id, caller, idempotency }) {
      const names = [keys.line(caller)];
      const args = [toSafeString(id)];
      if (idempotency !== undefined) {
        names.push(keys.idempotency(caller, idempotency.key));
        args.push(toRunningValue(idempotency, id));
      }
      await run(GIVE_UP, names, args);
    },

    async finish({ id, caller, concurrency, idempotency }, outcome) {
      // The counts of windows stay, so there may be nothing to do.
      if (concurrency.length === 0 && idempotency === undefined) return;
      const names = concurrency.map(({ key }) => keys.slots(caller, key));
      const args = [toSafeString(id), String(concurrency.length)];
      if (idempotency !== undefined) {
        names.push(keys.idempotency(caller, idempotency.key));
        const ttlMs = outcome.kind === "forget" ? 1 : outcome.ttlMs;
        const finished = toFinishedValue(idempotency, outcome, maxResponseBytes);
        args.push(toRunningValue(idempotency, id), finished, toMilliseconds(ttlMs));
      }
      await run(FINISH, names, args);
    },

    async readCounts({ caller, windows, concurrency }) {
      const names = [
        ...windows.map(({ key }) => keys.window(caller, key)),
        ...concurrency.map(({ key }) => keys.slots(caller, key)),
      ];
      const reply = await run(READ_COUNTS, names, [String(windows.length)]);
      try {
        return readCounts(toArray(reply), windows.length, concurrency.length);
      } catch (cause) {
        throw new UnreadableError(UNREADABLE, { cause });
      }
    },

    async renew(caller, batch) {
      const { names, args } = toRenewInput(keys, leaseMs, { caller, batch });
      await run(RENEW, names, args);
    },

    setCooldown: (channel, cooldown) =>
      setState(toSafeString(channel), cooldown === undefined ? "" : toCooldownValue(cooldown)),

    setPause: (channel, pause) =>
      setState(toPauseField(channel), pause === undefined ? "" : toPauseValue(pause)),

    async probe(caller) {
      await run(PROBE, [caller === undefined ? keys.cooldownProbe : keys.probe(caller)], []);
    },

    get lastState() {
      return lastState;
    },
  };
}

const UNREADABLE = "A reply or a value in Redis is not of this version of @calotype/redis.";

/** Whether a call needs cooldowns or pauses. */
export function needsState({
  channels,
  pausesOf = [],
}: Pick<AdmissionRequest, "channels" | "pausesOf">): boolean {
  return channels.length + pausesOf.length > 0;
}

/** Keys and arguments of a script. */
interface ScriptInput {
  readonly names: string[];
  readonly args: string[];
}

/** The input of one of the two scripts that admit. */
interface AdmitInput extends ScriptInput {
  readonly script: Script;
}

function inTurn(
  keys: KeyNames,
  { id, caller, concurrency, idempotency }: AdmissionRequest,
  { input, turn }: { readonly input: AdmitInput; readonly turn: Turn },
): AdmitInput {
  const { names, args } = input;
  const hasId = concurrency.length > 0 || idempotency !== undefined;
  const leaseMs = turn.leaseMs === 0 ? "0" : toMilliseconds(turn.leaseMs);
  return {
    script: ADMIT_IN_TURN,
    names: [...names, keys.line(caller)],
    args: [
      ...args,
      ...(hasId ? [] : [toSafeString(id)]),
      String(Math.max(0, Math.round(turn.waitedMs))),
      leaseMs,
    ],
  };
}

function toAdmitInput(keys: KeyNames, request: AdmissionRequest, maxLeaseMs: number): AdmitInput {
  const { id, caller, windows, concurrency, idempotency } = request;
  const names = [
    ...windows.map(({ key }) => keys.window(caller, key)),
    ...concurrency.map(({ key }) => keys.slots(caller, key)),
  ];
  const args = [String(windows.length), String(concurrency.length), idempotency === undefined ? "0" : "1"];
  for (const { limit, windowMs, cost } of windows) {
    args.push(String(limit), toMilliseconds(windowMs), String(cost));
  }
  for (const { limit, leaseMs } of concurrency) {
    args.push(String(limit), toMilliseconds(Math.min(leaseMs, maxLeaseMs)));
  }
  if (idempotency !== undefined) {
    names.push(keys.idempotency(caller, idempotency.key));
    const leaseMs = Math.min(idempotency.leaseMs, maxLeaseMs);
    args.push(toSafeString(id), toRunningValue(idempotency, id), toMilliseconds(leaseMs));
  } else if (concurrency.length > 0) {
    args.push(toSafeString(id));
  }
  return { script: ADMIT, names, args };
}

/** No lease is extended beyond the end of the request's own lease. */
function toRenewInput(
  keys: KeyNames,
  leaseMs: number,
  { caller, batch }: { readonly caller: string; readonly batch: readonly RunningRequest[] },
): ScriptInput {
  const slots = new Map<string, string[]>();
  const idempotencyNames: string[] = [];
  const idempotencyArgs: string[] = [];
  for (const { request, ageMs } of batch) {
    for (const limit of request.concurrency) {
      if (limit.leaseMs <= ageMs) continue;
      const members = slots.get(limit.key) ?? [];
      members.push(toSafeString(request.id), toMilliseconds(Math.min(leaseMs, limit.leaseMs - ageMs)));
      slots.set(limit.key, members);
    }
    const { idempotency } = request;
    if (idempotency === undefined || idempotency.leaseMs <= ageMs) continue;
    idempotencyNames.push(keys.idempotency(caller, idempotency.key));
    const restMs = Math.min(leaseMs, idempotency.leaseMs - ageMs);
    idempotencyArgs.push(toRunningValue(idempotency, request.id), toMilliseconds(restMs));
  }
  const members = [...slots.values()].flatMap((list) => [String(list.length / 2), ...list]);
  return {
    names: [...[...slots.keys()].map((key) => keys.slots(caller, key)), ...idempotencyNames],
    args: [String(slots.size), ...members, ...idempotencyArgs],
  };
}

/**
 * Reads a reply of the script `ADMIT`.
 *
 * @returns the decision, and all cooldowns and pauses if the request needed some
 * @throws Error for a reply of another format
 */
function readReply(
  reply: readonly unknown[],
  request: AdmissionRequest,
): { readonly decision: AdmissionDecision; readonly state?: StateList } {
  const { windows, concurrency, idempotency } = request;
  const [kind, index, list] = [toString(reply[0]), reply[1], reply[2]];
  if (kind === "claimed" && idempotency !== undefined) {
    return { decision: toRepeatDecision(toString(index), idempotency) };
  }
  if (kind === "admitted" && Array.isArray(list)) {
    const state = list.map(toString);
    const found = findState(state, request, Number(index));
    const decision = { kind, windows: toStates(reply.slice(3), windows), ...found } as const;
    return needsState(request) ? { decision, state } : { decision };
  }
  const states = toStates(reply.slice(2), windows);
  const window = windows[Number(index) - 1];
  if (kind === "limited" && window !== undefined) {
    return { decision: { kind, limit: window, windows: states } };
  }
  const slot = concurrency[Number(index) - 1];
  if (kind === "crowded" && slot !== undefined) return { decision: { kind, limit: slot, windows: states } };
  throw new Error(`The script replied with an unknown "${kind}".`);
}

/** @param numbers alternating counts and remaining milliseconds */
function toStates(numbers: readonly unknown[], windows: AdmissionRequest["windows"]): WindowState[] {
  return windows.map(({ limit }, index) => {
    const [count, resetMs] = [Number(numbers[2 * index]), Number(numbers[2 * index + 1])];
    if (Number.isNaN(count) || Number.isNaN(resetMs)) throw new Error("The script's reply is incomplete.");
    // The count can exceed a limit that the operator has lowered.
    return { remaining: Math.max(0, limit - count), resetMs };
  });
}

/** Reads a reply of the script `READ_COUNTS`. */
function readCounts(reply: readonly unknown[], windows: number, slots: number): Counts {
  const numbers = reply.map((value) => Number(typeof value === "number" ? value : toString(value)));
  if (numbers.length !== 2 * windows + slots || numbers.some(Number.isNaN)) {
    throw new Error("The script's reply is incomplete, or a count is not a number.");
  }
  return {
    windows: Array.from({ length: windows }, (_, index) => ({
      count: numbers[2 * index] ?? 0,
      resetMs: numbers[2 * index + 1] ?? 0,
    })),
    slots: numbers.slice(2 * windows),
  };
}

function toArray(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new Error(`The script replied with ${typeof reply} instead of an array.`);
}

/** Some clients are configured to return bytes. */
function toString(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  throw new Error(`The script replied with ${typeof value} instead of a string.`);
}

const LONGEST_MS = 1e12;

/** Redis needs a whole number of at least 1, written without an exponent. */
function toMilliseconds(ms: number): string {
  return String(Math.min(Math.max(1, Math.ceil(ms)), LONGEST_MS));
}
