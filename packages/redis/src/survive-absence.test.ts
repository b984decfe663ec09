import { setTimeout as sleep } from "node:timers/promises";
import type { AdmissionRequest } from "@calotype/core";
import { describe, expect, it } from "vitest";
import type { IoredisClient } from "./clients/ioredis-client.js";
import { createRedisAdmissionStore } from "./create-redis-admission-store.js";
import { ADMIT } from "./scripts/admit.js";
import { FINISH } from "./scripts/finish.js";
import { SET_COOLDOWN } from "./scripts/set-cooldown.js";

const DEADLINE_MS = 300;
const LOST = new Error("Connection is closed.");

const never = (): Promise<never> => new Promise(() => undefined);
const done = async (): Promise<number> => 1;

/** A store over what a connection may answer; every script but those named is done. */
function open(answers: { readonly [sha: string]: (args: readonly string[]) => Promise<unknown> }) {
  const sent: string[] = [];
  const client: IoredisClient = {
    async evalsha(sha, keyCount, ...rest) {
      sent.push(sha);
      return await (answers[sha] ?? done)(rest.slice(keyCount));
    },
    eval: () => Promise.reject(new Error("It knows all scripts.")),
  };
  const lines: string[] = [];
  const logger = {
    warn: (_fields: object, message: string) => void lines.push(message),
    error: (_fields: object, message: string) => void lines.push(message),
  };
  const store = createRedisAdmissionStore({ client, deadlineMs: DEADLINE_MS, logger });
  const countOf = (sha: string): number => sent.filter((one) => one === sha).length;
  return { store, lines, countOf };
}

function requestOf(caller: string): AdmissionRequest {
  const concurrency = [{ key: "place", limit: 1, leaseMs: 60_000 }];
  return { id: `req of ${caller}`, caller, windows: [], concurrency, channels: [] };
}

describe("a store whose Redis comes and goes", () => {
  it("tells an end again that failed after Redis was back already", async () => {
    // As on a cluster of which one node answers and another hangs.
    const hanging = requestOf("the node that hangs");
    let tries = 0;
    const { store, lines } = open({
      [ADMIT.sha]: () => Promise.reject(LOST),
      [FINISH.sha]: ([id]) => (id === hanging.id && ++tries < 3 ? never() : done()),
    });
    void store.finish(hanging, { kind: "forget" });
    for (const times of [1, 2]) {
      await expect.poll(() => tries, { interval: 1 }).toBe(times);
      await expect(store.admit(requestOf("another"))).rejects.toThrow("cannot count");
      await expect.poll(() => lines, { interval: 1 }).toHaveLength(2 * times);
    }
    await expect.poll(() => tries).toBe(3);
  });

  it("tells no older cooldown after a newer one", async () => {
    let isThere = false;
    const told: string[] = [];
    const { store, lines } = open({
      [SET_COOLDOWN.sha]: async ([channel, text]) => {
        if (!isThere) throw LOST;
        // What is owed before it takes a while.
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

  it("refuses one request, and gives back what it took, where it cannot read what stands there", async () => {
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
    "refuses a repeat alone whose claim reads %s",
    async (text) => {
      const { store, lines } = open({
        [ADMIT.sha]: async () => ["claimed", text],
      });
      const idempotency = { key: "key", fingerprint: "same", leaseMs: 60_000 };
      await expect(store.admit({ ...requestOf("me"), idempotency })).rejects.toThrow("A reply, a claim");
      expect(lines).toEqual([]);
    },
  );
});
