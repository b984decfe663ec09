import type { RunScript } from "../scripts/script.js";
import { type IoredisClient, runOnIoredis } from "./ioredis-client.js";
import { type NodeRedisClient, runOnNodeRedis } from "./node-redis-client.js";

/** A client that you connect, configure and close: of `ioredis` or of `redis`, for one server or a cluster. */
export type RedisClient = IoredisClient | NodeRedisClient;

/**
 * The one way in which scripts run on either client. They are told apart by the spelling of a method, so that
 * neither needs to be installed.
 *
 * @throws TypeError for what is neither
 */
export function toRunScript(client: RedisClient): RunScript {
  if (isObject(client)) {
    if ("evalSha" in client) return runOnNodeRedis(client);
    if ("evalsha" in client) return runOnIoredis(client);
  }
  throw new TypeError("client must be a client of ioredis (Redis, Cluster) or of redis (createClient, …).");
}

/** Callers without types may give anything. */
function isObject(client: unknown): boolean {
  return typeof client === "object" && client !== null;
}
