import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { createClient, type RedisClientType } from "redis";
import { afterAll, beforeAll } from "vitest";
import type { OpenedStore, OpenStore } from "../admission-suite/open-store.js";
import type { Service } from "./needs-service.js";

/** Any Redis; tests write under names of their own, and remove what they wrote. */
export const REDIS: Service = {
  name: "Redis",
  variable: "REDIS_URL",
  url: "redis://127.0.0.1:6379",
  probe: async (url) => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
    client.on("error", () => undefined); // connect rejects with it
    try {
      await client.connect();
      await client.ping();
    } finally {
      client.disconnect();
    }
  },
};

/** A client of ioredis for the tests of a file. */
export function useIoredis(url: string): () => Redis {
  let client: Redis | undefined;
  beforeAll(() => {
    client = new Redis(url);
  });
  afterAll(() => client?.disconnect());
  return () => opened(client);
}

/** A client of node-redis for the tests of a file. */
export function useNodeRedis(url: string): () => RedisClientType {
  let client: RedisClientType | undefined;
  beforeAll(async () => {
    client = createClient({ url });
    await client.connect();
  });
  afterAll(() => client?.destroy());
  return () => opened(client);
}

/** A time that a busy machine does not reach. */
export const PATIENT_MS = 20_000;
/** So much later than asked for a busy machine may go on. */
const SLACK_MS = 300;

/** Opens stores that have a prefix of their own, by the client that the test uses. */
export function openRedisStore(
  client: () => RedisAdmissionStoreOptions["client"],
  cleaner: () => Redis,
): OpenStore {
  return (): OpenedStore => {
    const prefix = createPrefix();
    return {
      store: createRedisAdmissionStore({ client: client(), prefix, deadlineMs: PATIENT_MS }),
      now: Date.now,
      // A timer may fire a millisecond early.
      advance: (ms) => sleep(ms + 2),
      slackMs: SLACK_MS,
      close: () => removeKeys(cleaner(), prefix),
    };
  };
}

/** A prefix that nothing else uses. */
export function createPrefix(): string {
  return `calotype-test:${randomUUID()}:`;
}

export async function findKeys(client: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of client.scanStream({ match: `${prefix}*`, count: 1_000 })) keys.push(...found);
  return keys;
}

export async function removeKeys(client: Redis, prefix: string): Promise<void> {
  const keys = await findKeys(client, prefix);
  if (keys.length > 0) await client.unlink(...keys);
}

function opened<Client>(client: Client | undefined): Client {
  if (client === undefined) throw new Error("The client is open only while tests run.");
  return client;
}
