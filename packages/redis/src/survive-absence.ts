import {
  type AdmissionDecision,
  type AdmissionRequest,
  type AdmissionStore,
  createMemoryAdmissionStore,
  GatewayError,
  type IdempotencyOutcome,
  type Logger,
} from "@calotype/core";
import type { AdmissionCalls } from "./admission-calls.js";
import { type AwayPolicies, type AwayPolicy, isRefusedAway } from "./away-policies.js";
import { findCooldowns } from "./cooldown-list.js";
import { createOwedWrites } from "./owed-writes.js";
import { AwayError, createReach } from "./reach.js";
import { createLeaseRenewal, type RunningRequest } from "./renew-leases.js";
import { UnreadableError } from "./unreadable-error.js";

export interface AbsenceOptions {
  readonly deadlineMs: number;
  /** For so long Redis has what is not renewed. */
  readonly leaseMs: number;
  readonly whenAway: AwayPolicy | AwayPolicies;
  /** Must not throw. */
  readonly warn: Logger["warn"];
}

const OWED_WRITES = { maxWrites: 10_000, maxBytes: 64 * 1024 * 1024 };
const RETRY_AFTER_SECONDS = 5;
const FORGET: IdempotencyOutcome = { kind: "forget" };

/**
 * A store that keeps its word while Redis is away: requests are refused or counted in this process, as the policy
 * says, and how those that run end is told to Redis when it is back.
 */
export function surviveAbsence(calls: AdmissionCalls, options: AbsenceOptions): AdmissionStore {
  const { deadlineMs, leaseMs, whenAway, warn } = options;
  const own = createMemoryAdmissionStore();
  /** Requests that run and were admitted by this process, by their ids. */
  const admittedHere = new Set<string>();
  const owed = createOwedWrites({
    ...OWED_WRITES,
    onFailure: (err) => warn({ err }, "Redis did not take what it was told late."),
  });
  const reach = createReach({
    deadlineMs,
    onLost: (err) => warn({ err }, "Redis is away; what becomes of requests is as whenAway says."),
    onBack: (awayMs) => {
      warn({ awayMs, forgottenWrites: owed.takeDropped() }, "Redis is back.");
      renewal.renewAll();
      void owed.deliver();
    },
  });

  /** When Redis is back; at once, where it was back before the call had failed. */
  const tellLater = (name: string, write: () => Promise<void>, bytes?: number): void => {
    const tell = async (): Promise<void> => {
      try {
        await write();
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        if (!owed.has(name)) tellLater(name, write, bytes);
      }
    };
    owed.owe(name, tell, bytes);
    if (!reach.isAway) void owed.deliver();
  };
  const finishThere = (request: AdmissionRequest, outcome: IdempotencyOutcome): Promise<void> =>
    reach.ask({ send: () => calls.finish(request, outcome), probe: () => calls.probe(request.caller) });
  const oweFinish = (request: AdmissionRequest, outcome: IdempotencyOutcome): void => {
    if (request.concurrency.length === 0 && request.idempotency === undefined) return;
    // Two bytes a character, the most that an engine takes.
    const bytes = outcome.kind === "keep" ? 2 * outcome.response.body.length : 0;
    tellLater(`finish ${request.id}`, () => finishThere(request, outcome), bytes);
  };
  /** What a request took that nobody waits for. One that runs is ended by its own end. */
  const giveBack = (request: AdmissionRequest): void => {
    if (admittedHere.has(request.id) || owed.has(`finish ${request.id}`)) return;
    oweFinish(request, FORGET);
  };
  const renewal = createLeaseRenewal({
    leaseMs,
    renew: (caller, batch) =>
      reach.ask({ send: () => renewThere(caller, batch), probe: () => calls.probe(caller) }),
  });
  const renewThere = async (caller: string, batch: readonly RunningRequest[]): Promise<void> => {
    try {
      await calls.renew(caller, batch);
    } finally {
      // A client that has several connections, or sends again, may have sent an end before this.
      for (const { request } of batch) if (!renewal.isRunning(request)) giveBack(request);
    }
  };
  const admitHere = async (request: AdmissionRequest, cause: unknown): Promise<AdmissionDecision> => {
    if (isRefusedAway(whenAway, request)) throw createAwayResponse(cause);
    const decision = await own.admit(request);
    if (decision.kind !== "admitted") return decision;
    admittedHere.add(request.id);
    renewal.begin(request);
    return { ...decision, cooldowns: findCooldowns(calls.lastCooldowns, request.channels, Date.now()) };
  };

  return {
    async admit(request) {
      try {
        const decision = await reach.ask({
          send: () => calls.admit(request),
          probe: () => calls.probe(request.caller),
          onLate: ({ kind }) => {
            if (kind === "admitted") giveBack(request);
          },
        });
        if (decision.kind === "admitted") renewal.begin(request);
        return decision;
      } catch (error) {
        if (error instanceof UnreadableError) giveBack(request);
        if (!(error instanceof AwayError)) throw error;
        try {
          return await admitHere(request, error);
        } finally {
          // What was sent may have been done, though no answer came.
          if (error.cause !== undefined) giveBack(request);
        }
      }
    },

    async finish(request, outcome) {
      renewal.end(request);
      if (admittedHere.delete(request.id)) await own.finish(request, outcome);
      try {
        await finishThere(request, outcome);
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        oweFinish(request, outcome);
      }
    },

    async setCooldown(channel, cooldown) {
      const name = `cooldown ${channel}`;
      // What is still to be told is older, and must not come after this.
      owed.forget(name);
      const send = (): Promise<void> =>
        reach.ask({
          send: () => calls.setCooldown(channel, cooldown),
          probe: () => calls.probe(undefined),
        });
      try {
        await send();
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        tellLater(name, send);
      }
    },
  };
}

function createAwayResponse(cause: unknown): GatewayError {
  const message = "This server cannot count its limits at the moment: try again.";
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
}
