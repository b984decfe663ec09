import { describe, expect, it } from "vitest";
import { createMemoryAdmissionStore, type MemoryAdmissionStoreOptions } from "./memory-store.js";
import type { AdmissionRequest, AdmissionStore, IdempotencyOutcome } from "./store.js";

const DAY_MS = 86_400_000;
let ids = 0;

function requestFor(key: string): AdmissionRequest {
  const idempotency = { key, fingerprint: "same", leaseMs: 1_000 };
  return { id: String(ids++), caller: "me", windows: [], concurrency: [], idempotency, channels: [] };
}

function keep(body: string): IdempotencyOutcome {
  return { kind: "keep", response: { status: 200, headers: {}, body }, ttlMs: DAY_MS };
}

function open(options: MemoryAdmissionStoreOptions = {}) {
  const clock = { now: 0 };
  const store = createMemoryAdmissionStore({ now: () => clock.now, ...options });
  return { clock, store };
}

async function run(store: AdmissionStore, key: string, outcome: IdempotencyOutcome): Promise<void> {
  const request = requestFor(key);
  await store.admit(request);
  await store.finish(request, outcome);
}

async function kindOf(store: AdmissionStore, key: string): Promise<string> {
  return (await store.admit(requestFor(key))).kind;
}

describe("createMemoryAdmissionStore", () => {
  it("drops the oldest responses when all responses exceed maxResponseBytes", async () => {
    const { store } = open({ maxResponseBytes: 30 });
    await run(store, "first", keep("12345"));
    await run(store, "second", keep("12345"));
    await run(store, "third", keep("12345"));
    expect(await kindOf(store, "first")).toBe("replay");
    await run(store, "fourth", keep("1"));
    expect(
      await Promise.all(["first", "second", "third", "fourth"].map((key) => kindOf(store, key))),
    ).toEqual(["not_replayable", "replay", "replay", "replay"]);
  });

  it("drops no response for one that exceeds maxResponseBytes alone", async () => {
    const { store } = open({ maxResponseBytes: 30 });
    await run(store, "small", keep("12345"));
    await run(store, "large", keep("x".repeat(16)));
    expect(await kindOf(store, "small")).toBe("replay");
    expect(await kindOf(store, "large")).toBe("not_replayable");
  });

  it("frees the bytes of a response when its time is over", async () => {
    const { store, clock } = open({ maxResponseBytes: 30 });
    for (let day = 0; day < 5; day++) {
      await run(store, `first of ${day}`, keep("1234567"));
      await run(store, `second of ${day}`, keep("1234567"));
      expect(await kindOf(store, `first of ${day}`)).toBe("replay");
      clock.now += DAY_MS;
    }
  });

  it("forgets the oldest finished request above maxResponses, and no running request", async () => {
    const { store } = open({ maxResponses: 2 });
    await store.admit(requestFor("running"));
    await run(store, "first", keep("1"));
    await run(store, "second", { kind: "mark", ttlMs: DAY_MS });
    await run(store, "third", keep("3"));
    expect(await kindOf(store, "running")).toBe("running");
    expect(await kindOf(store, "second")).toBe("not_replayable");
    expect(await kindOf(store, "third")).toBe("replay");
    expect(await kindOf(store, "first")).toBe("admitted");
  });

  it("remembers no finished request with maxResponses 0", async () => {
    const { store } = open({ maxResponses: 0, maxResponseBytes: 0 });
    await run(store, "first", keep("1"));
    expect(await kindOf(store, "first")).toBe("admitted");
    expect(await kindOf(store, "first")).toBe("running");
  });

  it("neither extends a window nor loses its count when the clock is set back", async () => {
    const { store, clock } = open();
    const limit = { name: "images", key: "a", limit: 10, windowMs: 1_000, cost: 3 } as const;
    const request = { id: "a", caller: "me", windows: [limit], concurrency: [], channels: [] };
    const admitAt = async (now: number): Promise<unknown> => {
      clock.now = now;
      return store.admit(request);
    };
    expect(await admitAt(3_600_000)).toMatchObject({ windows: [{ remaining: 7, resetMs: 1_000 }] });
    expect(await admitAt(0)).toMatchObject({ windows: [{ remaining: 4, resetMs: 1_000 }] });
    expect(await admitAt(999)).toMatchObject({ windows: [{ remaining: 1, resetMs: 1 }] });
    expect(await admitAt(1_000)).toMatchObject({ windows: [{ remaining: 7, resetMs: 1_000 }] });
  });

  it("refuses an option of version 0.1, and names the new option", () => {
    expect(() => createMemoryAdmissionStore({ maxAnswers: 1 } as object)).toThrow(/set maxResponses/);
  });

  it("counts exactly with the real clock", async () => {
    const store = createMemoryAdmissionStore();
    const limit = { name: "requests", key: "a", limit: 1, windowMs: 60_000, cost: 1 } as const;
    const request = { id: "a", caller: "me", windows: [limit], concurrency: [], channels: [] };
    expect(await store.admit(request)).toMatchObject({ windows: [{ remaining: 0, resetMs: 60_000 }] });
    expect(await store.admit(request)).toMatchObject({ kind: "limited" });
  });
});
