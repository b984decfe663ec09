import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionRequest } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import type { IoredisClient } from "./client.js";
import type { RedisAdmissionStoreOptions } from "./options.js";
import { ADMIT, FINISH, READ_COUNTS, SET_COOLDOWN } from "./scripts.js";
import { createRedisAdmissionStore } from "./store.js";

const DEADLINE_SECONDS = 0.3;
const LOST = new Error("Connection is closed.");

const never = (): Promise<never> => new Promise(() => undefined);
const done = async (): Promise<number> => 1;

/** Opens a store on a client that replies to the given scripts as told, and to all others with success. */
function open(
  replies: { readonly [sha: string]: (args: readonly string[]) => Promise<unknown> },
  options: Partial<RedisAdmissionStoreOptions> = {},
) {
  const sent: string[] = [];
  const client: IoredisClient = {
    async evalsha(sha, keyCount, ...rest) {
      sent.push(sha);
      return await (replies[sha] ?? done)(rest.slice(keyCount));
    },
    eval: () => Promise.reject(new Error("The server has all scripts.")),
  };
  const lines: string[] = [];
  const logger = {
    warn: (_fields: object, message: string) => void lines.push(message),
    error: (_fields: object, message: string) => void lines.push(message),
  };
  const store = createRedisAdmissionStore({ client, deadlineSeconds: DEADLINE_SECONDS, logger, ...options });
  const countOf = (sha: string): number => sent.filter((one) => one === sha).length;
  return { store, lines, countOf };
}

function requestOf(caller: string): AdmissionRequest {
  const concurrency = [{ key: "slot", limit: 1, leaseMs: 60_000 }];
  return { id: `req of ${caller}`, caller, windows: [], concurrency, channels: [] };
}

describe("a store whose Redis is sometimes away", () => {
  it("sends the end of a request again if it failed after Redis was back", async () => {
    // As on a cluster where one node replies and another hangs.
    const hanging = requestOf("the node that hangs");
    let tries = 0;
    const { store, lines } = open({
      [ADMIT.sha]: () => Promise.reject(LOST),
      [FINISH.sha]: ([id]) => (id === hanging.id && ++tries < 3 ? never() : done()),
    });
    void store.finish(hanging, { kind: "forget" });
    for (const times of [1, 2]) {
      await expect.poll(() => tries, { interval: 1 }).toBe(times);
      await expect(store.admit(requestOf("another"))).rejects.toThrow("cannot check");
      await expect.poll(() => lines, { interval: 1 }).toHaveLength(2 * times);
    }
    await expect.poll(() => tries).toBe(3);
  });

  it("gives back what a late reply has admitted, although the end of that request was sent before", async () => {
    const late = Promise.withResolvers<unknown>();
    const ended: string[] = [];
    const { store, lines } = open({
      [ADMIT.sha]: () => late.promise,
      [FINISH.sha]: async ([id]) => ended.push(id ?? ""),
    });
    const request = requestOf("me");
    await expect(store.admit(request)).rejects.toThrow("cannot check");
    await expect.poll(() => lines).toHaveLength(2);
    await expect.poll(() => ended).toEqual([request.id]);
    late.resolve(["admitted", 1, []]);
    await expect.poll(() => ended).toEqual([request.id, request.id]);
  });

  it("sends no older cooldown after a newer one", async () => {
    let isThere = false;
    const told: string[] = [];
    const { store, lines } = open({
      [SET_COOLDOWN.sha]: async ([channel, text]) => {
        if (!isThere) throw LOST;
        // The writes before it take a while.
        if (channel !== "ark") await sleep(50);
        else told.push(text ?? "");
      },
    });
    const cooldown = { until: Date.now() + 60_000, reason: "rate" };
    for (let at = 0; at < 100; at++) await store.setCooldown(`before ${at}`, cooldown);
    await store.setCooldown("ark", cooldown);
    isThere = true;
    await expect.poll(() => lines, { interval: 1 }).toHaveLength(2);
    await store.setCooldown("ark", undefined);
    await sleep(200);
    expect(told.at(-1)).toBe("");
  });

  it.each([
    ["closed", "GatewayError: This server cannot check its rate limits at the moment: try again."],
    [{ limits: "open" }, { windows: [{ count: 0, resetMs: 0 }], slots: [1] }],
  ] as const)("reads counts with whenAway %j as it admits", async (whenAway, expected) => {
    const { store } = open({ [ADMIT.sha]: () => Promise.reject(LOST) }, { whenAway });
    await store.admit(requestOf("me")).catch(() => undefined);
    const request = {
      caller: "me",
      windows: [{ key: "window", windowMs: 60_000 }],
      concurrency: [{ key: "slot" }],
    };
    expect(await store.readCounts?.(request).catch(String)).toEqual(expected);
  });

  it.each([[["many", 0]], [[1]]])("reads no counts from the reply %j", async (reply) => {
    const { store, lines } = open({ [READ_COUNTS.sha]: async () => reply });
    const read = store.readCounts?.({
      caller: "me",
      windows: [{ key: "window", windowMs: 60_000 }],
      concurrency: [],
    });
    await expect(read).rejects.toThrow("A reply or a value");
    expect(lines).toEqual([]);
  });

  it("refuses a request, and releases what it took, if it cannot read a reply", async () => {
    let cooldowns: string[] = ["ark", "not of ours"];
    const { store, lines, countOf } = open({
      [ADMIT.sha]: async () => ["admitted", 1, cooldowns],
    });
    const request = { ...requestOf("me"), channels: ["ark"] };
    await expect(store.admit(request)).rejects.toThrow("is not of this version of @calotype/redis");
    await expect.poll(() => countOf(FINISH.sha)).toBe(1);
    cooldowns = [];
    expect(await store.admit(request)).toMatchObject({ kind: "admitted" });
    expect(lines).toEqual([]);
  });

  it.each(["not JSON", '["answered"]', '["waiting","same"]', "{}", "null"])(
    "refuses only a repeat if its stored value is %s",
    async (text) => {
      const { store, lines } = open({
        [ADMIT.sha]: async () => ["claimed", text],
      });
      const idempotency = { key: "key", fingerprint: "same", leaseMs: 60_000 };
      await expect(store.admit({ ...requestOf("me"), idempotency })).rejects.toThrow("A reply or a value");
      expect(lines).toEqual([]);
    },
  );
});
