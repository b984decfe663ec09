import { setTimeout as sleep } from "node:timers/promises";
import { createRedisAdmissionStore, type RedisAdmissionStoreOptions } from "@calotype/redis";
import { Redis } from "ioredis";
import { createClient, type RedisClientType } from "redis";
import { afterAll, beforeAll } from "vitest";
import type { OpenedStore, OpenStore } from "../admission-suite/open-store.ts";
import { createPrefix, findKeys, removeKeys } from "./redis-keys.ts";
import { REDIS } from "./service.ts";

export { createPrefix, findKeys, REDIS, removeKeys };

/** A client of either package. */
export type RedisClient = RedisAdmissionStoreOptions["client"];

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

/** Longer than any delay of a busy machine. */
export const PATIENT_SECONDS = 20;
/** The delay of a timer on a busy machine. */
export const SLACK_MS = 700;

/** Opens stores with a unique prefix, over the client of the test. */
export function openRedisStore(
  client: () => RedisAdmissionStoreOptions["client"],
  cleaner: () => Redis,
): OpenStore {
  return (): OpenedStore => {
    const prefix = createPrefix();
    return {
      store: createRedisAdmissionStore({ client: client(), prefix, deadlineSeconds: PATIENT_SECONDS }),
      now: Date.now,
      // A timer may fire a millisecond early.
      advance: (ms) => sleep(ms + 2),
      slackMs: SLACK_MS,
      close: () => removeKeys(cleaner(), prefix),
    };
  };
}

function opened<Client>(client: Client | undefined): Client {
  if (client === undefined) throw new Error("The client is open only while tests run.");
  return client;
}
