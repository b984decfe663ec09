import { randomUUID } from "node:crypto";
import type { AdmissionRequest, AdmissionStore } from "@calotype/core/stores";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { medianOf, medianRatioOf } from "../statistics.ts";

const ROUNDS = 11;
const ROUND_CALLS = 2000;
const MINUTE_MS = 60_000;

type Work = () => Promise<unknown>;

/**
 * Compares the calls of a gateway to Redis with the smallest possible call, an INCR, over the same client. They run
 * in turns, so that what slows down the machine affects both.
 */
export async function runRedis({ say }: { say: (line: string) => void }): Promise<void> {
  const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
  const prefix = `calotype-bench:${randomUUID()}:`;
  const ioredis = new Redis(url);
  const nodeRedis = createClient({ url });
  await nodeRedis.connect();
  say(`Redis, ${ROUNDS} rounds of ${ROUND_CALLS} calls each in turns; medians`);
  try {
    const counter = `${prefix}counter`;
    await compare("ioredis", { ...worksOf(ioredis, prefix), bare: () => ioredis.incr(counter) }, say);
    await compare("node-redis", { ...worksOf(nodeRedis, prefix), bare: () => nodeRedis.incr(counter) }, say);
  } finally {
    for await (const keys of ioredis.scanStream({ match: `${prefix}*`, count: 1000 })) {
      if (keys.length > 0) await ioredis.unlink(...keys);
    }
    ioredis.disconnect();
    nodeRedis.destroy();
  }
}

interface Works {
  /** One INCR. */
  readonly bare: Work;
  /** A request with two windows, a slot and the cooldowns. */
  readonly admit: Work;
  /** The same, and the end of the request. */
  readonly whole: Work;
}

function worksOf(client: RedisAdmissionStoreOptions["client"], prefix: string): Omit<Works, "bare"> {
  const store: AdmissionStore = createRedisAdmissionStore({ client, prefix });
  let count = 0;
  return {
    admit: async () => await store.admit(createRequest(++count)),
    whole: async () => {
      const request = createRequest(++count);
      await store.admit(request);
      await store.finish(request, { kind: "forget" });
    },
  };
}

async function compare(name: string, works: Works, say: (line: string) => void): Promise<void> {
  for (const atOnce of [1, 32]) {
    const times: Record<keyof Works, number[]> = { bare: [], admit: [], whole: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of ["bare", "admit", "whole"] as const) {
        times[kind].push(await microsecondsOf(works[kind], atOnce));
      }
    }
    const shown = (["bare", "admit", "whole"] as const).map((kind) => {
      const ratio = medianRatioOf(times[kind], times.bare);
      return `${TITLES[kind]} ${medianOf(times[kind]).toFixed(0)} µs (× ${ratio.toFixed(2)})`;
    });
    say(`${name}, ${atOnce} at once: ${shown.join(", ")}`);
  }
}

const TITLES: Record<keyof Works, string> = { bare: "INCR", admit: "admit", whole: "admit and finish" };

/** The time per call. For parallel calls, their time divided by their number. */
async function microsecondsOf(work: Work, atOnce: number): Promise<number> {
  let left = ROUND_CALLS;
  const start = performance.now();
  const callers = Array.from({ length: atOnce }, async () => {
    while (left-- > 0) await work();
  });
  await Promise.all(callers);
  return ((performance.now() - start) * 1000) / ROUND_CALLS;
}

function createRequest(count: number): AdmissionRequest {
  const caller = `caller-${count % 1000}`;
  const window = { limit: 1_000_000, windowMs: MINUTE_MS };
  return {
    id: `req_${count}`,
    caller,
    windows: [
      { name: "requests", key: `["requests","${caller}"]`, cost: 1, ...window },
      { name: "images", key: `["images","${caller}"]`, cost: 4, ...window },
    ],
    concurrency: [{ key: `["concurrent","${caller}"]`, limit: 1_000_000, leaseMs: 80 * MINUTE_MS }],
    channels: ["ark", "ark-2"],
  };
}
