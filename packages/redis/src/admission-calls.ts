import type { AdmissionDecision, AdmissionRequest, Cooldown, IdempotencyOutcome } from "@calotype/core";
import { toEndedText, toRepeat, toRunningText } from "./claim-text.js";
import { type CooldownList, findCooldowns, toCooldownText } from "./cooldown-list.js";
import { type KeyNames, toSafeText } from "./key-names.js";
import { readAdmitReply } from "./read-admit-reply.js";
import { toRenewArguments } from "./renew-arguments.js";
import type { RunningRequest } from "./renew-leases.js";
import { isReplyError } from "./reply-error.js";
import { ADMIT } from "./scripts/admit.js";
import { FINISH } from "./scripts/finish.js";
import { PROBE } from "./scripts/probe.js";
import { RENEW } from "./scripts/renew.js";
import type { RunScript } from "./scripts/script.js";
import { SET_COOLDOWN } from "./scripts/set-cooldown.js";
import { toMilliseconds } from "./to-milliseconds.js";
import { readOrRefuse } from "./unreadable-error.js";

/** What is asked of Redis, each in one round trip. Rejects with what the client does. */
export interface AdmissionCalls {
  admit(request: AdmissionRequest): Promise<AdmissionDecision>;
  finish(request: AdmissionRequest, outcome: IdempotencyOutcome): Promise<void>;
  /** Keeps what requests of this caller took for one more lease. */
  renew(caller: string, batch: readonly RunningRequest[]): Promise<void>;
  setCooldown(channel: string, cooldown: Cooldown | undefined): Promise<void>;
  /** Resolves where Redis takes writes under the keys of this caller, or of cooldowns. */
  probe(caller: string | undefined): Promise<void>;
  /** The cooldowns as Redis told them last. */
  readonly lastCooldowns: CooldownList;
}

export interface CallOptions {
  readonly run: RunScript;
  readonly keys: KeyNames;
  /** Of a larger answer only a mark is kept. */
  readonly maxResponseBytes: number;
  /** A place or a claim is taken, and renewed, for at most so long. */
  readonly leaseMs: number;
}

export function createAdmissionCalls({ run, keys, maxResponseBytes, leaseMs }: CallOptions): AdmissionCalls {
  let lastCooldowns: CooldownList = [];
  // A cluster has no script of two tags: then cooldowns are a second call, sent with the first.
  let isSplit = false;

  const runAdmit = async (
    request: AdmissionRequest,
    tagged: string[],
    args: string[],
  ): Promise<unknown[]> => {
    if (request.channels.length === 0) return toArray(await run(ADMIT, tagged, args));
    if (!isSplit) {
      try {
        return toArray(await run(ADMIT, [...tagged, keys.cooldowns], args));
      } catch (error) {
        if (!isReplyError(error, "CROSSSLOT")) throw error;
        isSplit = true;
      }
    }
    const [reply, others] = await Promise.all([
      run(ADMIT, tagged, args),
      run(ADMIT, [keys.cooldowns], ["0", "0", "0"]),
    ]);
    const whole = toArray(reply);
    if (String(whole[0]) !== "admitted") return whole;
    const [, now, cooldowns] = toArray(others);
    return whole.with(1, now).with(2, cooldowns);
  };

  return {
    async admit(request) {
      const reply = await runAdmit(request, toAdmitKeys(keys, request), toAdmitArguments(request, leaseMs));
      const { decision, cooldowns } = readOrRefuse("A reply, a claim or a cooldown", () =>
        toDecision(reply, request),
      );
      if (cooldowns !== undefined) lastCooldowns = cooldowns;
      return decision;
    },

    async finish({ id, caller, concurrency, idempotency }, outcome) {
      // Window counts stay, so that there is nothing to tell.
      if (concurrency.length === 0 && idempotency === undefined) return;
      const names = concurrency.map(({ key }) => keys.place(caller, key));
      const args = [toSafeText(id), String(concurrency.length)];
      if (idempotency !== undefined) {
        names.push(keys.claim(caller, idempotency.key));
        const ended = toEndedText(idempotency, outcome, maxResponseBytes);
        const ttlMs = outcome.kind === "forget" ? 1 : outcome.ttlMs;
        args.push(toRunningText(idempotency, id), ended, toMilliseconds(ttlMs));
      }
      await run(FINISH, names, args);
    },

    async renew(caller, batch) {
      const { names, args } = toRenewArguments(keys, leaseMs, { caller, batch });
      await run(RENEW, names, args);
    },

    async setCooldown(channel, cooldown) {
      const text = cooldown === undefined ? "" : toCooldownText(cooldown);
      await run(SET_COOLDOWN, [keys.cooldowns], [toSafeText(channel), text]);
    },

    async probe(caller) {
      await run(PROBE, [caller === undefined ? keys.cooldownProbe : keys.probe(caller)], []);
    },

    get lastCooldowns() {
      return lastCooldowns;
    },
  };
}

/** What the script found, and all cooldowns where it was asked for them. */
function toDecision(
  reply: readonly unknown[],
  { id, idempotency, windows, concurrency, channels }: AdmissionRequest,
): { readonly decision: AdmissionDecision; readonly cooldowns?: CooldownList } {
  const read = readAdmitReply(reply, { windows, concurrency });
  switch (read.kind) {
    case "claimed":
      if (idempotency === undefined) throw new Error(`Redis found a claim that ${id} does not make.`);
      return { decision: toRepeat(read.text, idempotency) };
    case "admitted": {
      const cooldowns = findCooldowns(read.cooldowns, channels, read.now);
      const decision = { kind: read.kind, windows: read.windows, cooldowns };
      return channels.length > 0 ? { decision, cooldowns: read.cooldowns } : { decision };
    }
    case "limited":
    case "crowded":
      return { decision: read };
  }
}

function toAdmitKeys(keys: KeyNames, request: AdmissionRequest): string[] {
  const { caller, windows, concurrency, idempotency } = request;
  const names: string[] = [];
  for (const { key } of windows) names.push(keys.window(caller, key));
  for (const { key } of concurrency) names.push(keys.place(caller, key));
  if (idempotency !== undefined) names.push(keys.claim(caller, idempotency.key));
  return names;
}

function toAdmitArguments(request: AdmissionRequest, mostMs: number): string[] {
  const { id, windows, concurrency, idempotency } = request;
  const args = [String(windows.length), String(concurrency.length), idempotency === undefined ? "0" : "1"];
  for (const { limit, windowMs, cost } of windows) {
    args.push(String(limit), toMilliseconds(windowMs), String(cost));
  }
  for (const { limit, leaseMs } of concurrency) {
    args.push(String(limit), toMilliseconds(Math.min(leaseMs, mostMs)));
  }
  if (idempotency !== undefined) {
    const leaseMs = Math.min(idempotency.leaseMs, mostMs);
    args.push(toSafeText(id), toRunningText(idempotency, id), toMilliseconds(leaseMs));
  } else if (concurrency.length > 0) {
    args.push(toSafeText(id));
  }
  return args;
}

function toArray(reply: unknown): unknown[] {
  if (Array.isArray(reply)) return reply;
  throw new Error(`Redis answered the script with ${typeof reply}, and not with an array.`);
}
