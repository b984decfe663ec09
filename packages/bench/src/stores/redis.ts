import { REDIS_SERVER, startRedisServer } from "@calotype/conformance/support/redis-server";
import type { AdmissionRequest, AdmissionStore } from "@calotype/core/stores";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { medianOf } from "../statistics.ts";

const ROUNDS = 11;
const ROUND_CALLS = 2000;
const MINUTE_MS = 60_000;
const SLOTS = 8;

/** What is measured: the smallest possible call, the admission of a request, and its end. */
const KINDS = ["incr", "admit", "finish"] as const;

/** The medians of one client. */
export interface RedisTimes {
  readonly client: "ioredis" | "node-redis";
  readonly atOnce: number;
  /** Microseconds of each call. For parallel calls, their time divided by their number. */
  readonly micros: Readonly<Record<(typeof KINDS)[number], number>>;
  /** The CPU time of the server for each call, in microseconds. */
  readonly cpuMicros: Readonly<Record<(typeof KINDS)[number], number>>;
}

/** The results of a run. */
export interface RedisResults {
  readonly version: string;
  readonly times: readonly RedisTimes[];
  /** `MEMORY USAGE` of keys, in bytes. */
  readonly bytes: {
    /** With two limits and eight requests in progress. */
    readonly caller: number;
    /** The key of a request in progress. */
    readonly runningKey: number;
    /** A stored response with one link. */
    readonly storedResponse: number;
  };
}

/**
 * Compares the calls of a gateway to Redis with the smallest possible call, an INCR, over the same client. They run
 * in turns, so that what slows down the machine affects all. The server is one that nothing else uses.
 */
export async function measureRedis(): Promise<RedisResults> {
  const server = await startRedisServer(REDIS_SERVER.url);
  const ioredis = new Redis(server.url);
  const nodeRedis = createClient({ url: server.url });
  await nodeRedis.connect();
  const readCpu = async (): Promise<number> => {
    const info = await ioredis.info("cpu");
    const [user, system] = ["user", "sys"].map(
      (kind) => new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(info)?.[1],
    );
    return (Number(user) + Number(system)) * 1e6;
  };
  try {
    const version = /redis_version:(\S+)/.exec(await ioredis.info("server"))?.[1] ?? "unknown";
    const bytes = await measureBytes(ioredis);
    const times: RedisTimes[] = [];
    const clients = {
      ioredis: { client: ioredis, increase: () => ioredis.incr("counter") },
      "node-redis": { client: nodeRedis, increase: () => nodeRedis.incr("counter") },
    } as const;
    for (const name of ["ioredis", "node-redis"] as const) {
      for (const atOnce of [1, 32]) {
        times.push({ client: name, atOnce, ...(await measureTimes({ ...clients[name], atOnce, readCpu })) });
      }
    }
    return { version, times, bytes };
  } finally {
    ioredis.disconnect();
    nodeRedis.destroy();
    await server.remove();
  }
}

interface Measured {
  readonly client: RedisAdmissionStoreOptions["client"];
  readonly increase: () => Promise<unknown>;
  readonly atOnce: number;
  /** The CPU time of the server so far, in microseconds. */
  readonly readCpu: () => Promise<number>;
}

async function measureTimes(measured: Measured): Promise<Pick<RedisTimes, "micros" | "cpuMicros">> {
  const store: AdmissionStore = createRedisAdmissionStore({ client: measured.client, prefix: "bench:" });
  const [micros, cpuMicros] = [emptySamples(), emptySamples()];
  let count = 0;
  for (let round = 0; round < ROUNDS; round++) {
    // The requests that are admitted in a round are those that end in it.
    const requests = Array.from({ length: ROUND_CALLS }, () => createRequest(++count));
    const works = {
      incr: measured.increase,
      admit: (request: AdmissionRequest) => store.admit(request),
      finish: (request: AdmissionRequest) => store.finish(request, { kind: "forget" }),
    };
    for (const kind of KINDS) {
      const waiting = [...requests];
      const [began, cpuBegan] = [performance.now(), await measured.readCpu()];
      const work = async (): Promise<void> => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await works[kind](next);
      };
      await Promise.all(Array.from({ length: measured.atOnce }, work));
      micros[kind].push(((performance.now() - began) * 1000) / ROUND_CALLS);
      cpuMicros[kind].push(((await measured.readCpu()) - cpuBegan) / ROUND_CALLS);
    }
  }
  return { micros: toMedians(micros), cpuMicros: toMedians(cpuMicros) };
}

type Samples = Record<(typeof KINDS)[number], number[]>;

const emptySamples = (): Samples => ({ incr: [], admit: [], finish: [] });

const toMedians = ({ incr, admit, finish }: Samples): RedisTimes["micros"] => ({
  incr: toMedian(incr),
  admit: toMedian(admit),
  finish: toMedian(finish),
});

const toMedian = (values: readonly number[]): number => Number(medianOf(values).toFixed(1));

async function measureBytes(client: Redis): Promise<RedisResults["bytes"]> {
  const store = createRedisAdmissionStore({ client, prefix: "bytes:" });
  const sumOf = async (): Promise<number> => {
    const sizes = await Promise.all((await client.keys("bytes:*")).map((key) => client.memory("USAGE", key)));
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  };
  const requests = Array.from({ length: SLOTS }, (_, at) => ({ ...createRequest(at), caller: "caller-0" }));
  const [first] = requests;
  for (const request of requests) await store.admit({ ...request, ...limitsOf("caller-0") });
  const caller = await sumOf();
  await client.flushdb();
  if (first === undefined) throw new Error("There is no request.");
  const repeatable = {
    ...first,
    windows: [],
    concurrency: [],
    idempotency: {
      key: `["caller-0","/v1/images/generations","${KEY}"]`,
      fingerprint: "f".repeat(64),
      leaseMs: MINUTE_MS,
    },
  };
  await store.admit(repeatable);
  const runningKey = await sumOf();
  await store.finish(repeatable, {
    kind: "keep",
    ttlMs: MINUTE_MS,
    response: {
      status: 200,
      headers: { "content-type": "application/json" },
      body: BODY,
    },
  });
  const storedResponse = await sumOf();
  await client.flushdb();
  return { caller, runningKey, storedResponse };
}

const KEY = "5c4b7a54-24cf-4c3f-9a29-f0b6c2f1a8f1";
/** A link of a provider with its signature. */
const BODY = JSON.stringify({
  model: "seedream-4-5-251128",
  created: 1_769_860_800,
  data: [
    {
      url: `https://ark-content-generation.example/${"a".repeat(64)}.jpeg?X-Tos-Signature=${"b".repeat(420)}`,
      size: "2048x2048",
    },
  ],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
});

function limitsOf(caller: string): Pick<AdmissionRequest, "windows" | "concurrency"> {
  const window = { limit: 1_000_000, windowMs: MINUTE_MS };
  return {
    windows: [
      { name: "requests", key: `["requests","${caller}"]`, cost: 1, ...window },
      { name: "images", key: `["images","${caller}"]`, cost: 4, ...window },
    ],
    concurrency: [{ key: `["concurrent","${caller}"]`, limit: 1_000_000, leaseMs: 80 * MINUTE_MS }],
  };
}

function createRequest(count: number): AdmissionRequest {
  const caller = `caller-${count % 1000}`;
  return { id: `req_${count}`, caller, ...limitsOf(caller), channels: ["ark", "ark-2"] };
}
