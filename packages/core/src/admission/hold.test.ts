import { describe, expect, it } from "vitest";
import type { Ledger } from "../billing/ledger.js";
import { createMemoryLedger } from "../billing/memory-ledger.js";
import { createPriceList } from "../billing/pricing.js";
import { DEFAULT_HEALTH_POLICY } from "../channels/cooldown.js";
import { createChannelHealth } from "../channels/health.js";
import { seedream } from "../families/seedream/seedream.js";
import type { Caller } from "../image-request.js";
import { createLateWrites } from "../job/late-writes.js";
import { createLinkedList } from "../linked-list.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import { type AdmissionParts, admit } from "./admit.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import { createLimitPlans } from "./rate-limits.js";

const prices = createPriceList({
  model_details: { m: { pricing_mode: "per-request", model_price: "0.1" } },
});
const NOW = 1_800_000_000_000;
const MODEL: ResolvedModel = {
  name: "m",
  entry: "m",
  family: seedream,
  limits: undefined,
  responseFormat: undefined,
  callerLimits: undefined,
  channels: [],
  upstreamModels: [],
  healthIds: [],
  leaseMs: 60_000,
};

interface Held {
  readonly id?: string;
  readonly caller?: Caller;
  readonly images?: number;
  readonly isPriced?: boolean;
}

function open(changed: Partial<Ledger> = {}) {
  const ledger = { ...createMemoryLedger({ now: () => NOW }), ...changed };
  const lateWrites = createLateWrites();
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const parts: AdmissionParts = {
    ledger,
    lateWrites,
    onLost: "release",
    logger: { warn: log, error: log },
    openBookings: createLinkedList(),
    now: () => NOW,
    admission: createMemoryAdmissionStore(),
    limitPlans: createLimitPlans(),
    health: createChannelHealth(() => NOW, DEFAULT_HEALTH_POLICY),
  };
  const hold = ({ id = "req_1", caller = { id: "me" }, images = 1, isPriced = true }: Held) =>
    admit(parts, {
      caller,
      callerLimits: {},
      model: MODEL,
      headers: new Headers(),
      fields: {},
      keepAlive: () => {},
      order: {
        id,
        receivedAt: NOW,
        time: new Date(NOW).toISOString(),
        caller: caller.id,
        group: "default",
        model: "m",
        operation: "generate",
        bounds: { maxImages: images },
        price: isPriced ? prices.find("m", "default") : undefined,
      },
      request: seedream.normalize(
        { prompt: "x", n: images },
        { operation: "generate", model: "m", limits: undefined, defaultResponseFormat: undefined },
      ),
    });
  return { ledger, lateWrites, logs, hold };
}

const REFUSED = { code: "insufficient_quota", status: 403, shouldRetry: false };

describe("a hold", () => {
  it("sets the worst case aside until the lease ends", async () => {
    const { ledger, hold } = open();
    await hold({ images: 4 });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.4" });
    expect(await ledger.sweep({ onLost: "release" })).toEqual([]);
  });

  it("sets nothing aside without a price, and knows of the request all the same", async () => {
    const { ledger, hold } = open();
    await hold({ isPriced: false });
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    expect(await ledger.sweep({ onLost: "charge", own: true })).toMatchObject([{ id: "req_1", held: null }]);
  });

  it.each<[string | number, number]>([
    ["0.3", 3],
    ["0.39999999999999999999999999", 3],
    [0.3, 3],
    ["0.1", 1],
    ["0", 0],
    ["0.09", 0],
    ["100000000000000000000000000000", 5],
  ])("lets a budget of %s pass %d of 5 that cost 0.1, to the digit", async (budget, passing) => {
    const { ledger, hold } = open();
    const holds = [1, 2, 3, 4, 5].map((id) => hold({ id: `req_${id}`, caller: { id: "me", budget } }));
    const outcomes = await Promise.allSettled(holds);
    const refusals = outcomes.flatMap((outcome): unknown[] =>
      outcome.status === "rejected" ? [outcome.reason] : [],
    );
    expect(refusals).toMatchObject(Array.from({ length: 5 - passing }, () => REFUSED));
    expect((await ledger.balance("me")).held).toBe(passing === 0 ? "0" : `0.${passing}`);
  });

  it.each(["__proto__", "constructor", "x".repeat(512)])(
    "keeps callers of any name apart: %#",
    async (id) => {
      const { ledger, hold } = open();
      await hold({ id: "req_1", caller: { id, budget: "0.1" } });
      await expect(hold({ id: "req_2", caller: { id, budget: "0.1" } })).rejects.toMatchObject(REFUSED);
      await hold({ id: "req_3", caller: { id: "other", budget: "0.1" } });
      expect(await ledger.balance(id)).toEqual({ settled: "0", held: "0.1" });
    },
  );

  it("is a 503 that may be repeated where the ledger fails, and the operator is told", async () => {
    const { logs, hold } = open({ hold: () => Promise.reject(new Error("unreachable")) });
    await expect(hold({})).rejects.toMatchObject({
      code: "gateway_unavailable",
      status: 503,
      retryAfterSeconds: 5,
    });
    expect(logs).toMatchObject([{ requestId: "req_1", err: new Error("unreachable") }]);
  });

  it("leaves no hold behind where the ledger made it and could not say so", async () => {
    const own = createMemoryLedger();
    const { hold } = open({
      ...own,
      hold: async (made) => {
        await own.hold(made);
        throw new Error("the connection was cut");
      },
    });
    await expect(hold({})).rejects.toMatchObject({ code: "gateway_unavailable" });
    expect(await own.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("leaves none behind either where the ledger stays away for a while after it", async () => {
    const own = createMemoryLedger();
    let isAway = false;
    const { hold, lateWrites } = open({
      ...own,
      hold: async (made) => {
        await own.hold(made);
        isAway = true;
        throw new Error("the connection was cut");
      },
      release: async (id) => {
        if (isAway) throw new Error("unreachable");
        await own.release(id);
      },
    });
    await expect(hold({})).rejects.toMatchObject({ code: "gateway_unavailable" });
    await lateWrites.run();
    expect(await own.balance("me")).toEqual({ settled: "0", held: "0.1" });
    isAway = false;
    await lateWrites.run();
    expect(await own.balance("me")).toEqual({ settled: "0", held: "0" });
  });
});
