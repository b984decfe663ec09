import type { Script } from "./scripts.js";

/** The methods that this package uses of a `Redis` or `Cluster` of ioredis. */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
}

/** The methods that this package uses of a client, cluster, pool or sentinel of `redis` (node-redis). */
export interface NodeRedisClient {
  evalSha(sha: string, input: NodeRedisScriptInput): Promise<unknown>;
  eval(source: string, input: NodeRedisScriptInput): Promise<unknown>;
}

/** The keys and arguments of a script for node-redis. */
export interface NodeRedisScriptInput {
  keys: string[];
  arguments: string[];
}

/** A client that you connect, configure and close: of `ioredis` or of `redis`, for one server or a cluster. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** Runs a script. Rejects with the error of the client. */
export type RunScript = (
  script: Script,
  keys: readonly string[],
  args: readonly string[],
) => Promise<unknown>;

/**
 * Returns a function that runs scripts with either client. The clients are recognized by the spelling of a method, so
 * neither package must be installed.
 *
 * @throws TypeError for any other value
 */
export function createRunScript(client: RedisClient): RunScript {
  // Callers without types may pass anything.
  if (typeof client === "object" && client !== null) {
    if ("evalSha" in client) return runOnNodeRedis(client);
    if ("evalsha" in client) return runOnIoredis(client);
  }
  throw new TypeError("client must be a client of ioredis (Redis, Cluster) or of redis (createClient, …).");
}

function runOnIoredis(client: IoredisClient): RunScript {
  return async ({ sha, source }, keys, args) =>
    evalIfMissing(
      () => client.evalsha(sha, keys.length, ...keys, ...args),
      () => client.eval(source, keys.length, ...keys, ...args),
    );
}

function runOnNodeRedis(client: NodeRedisClient): RunScript {
  return async ({ sha, source }, keys, args) => {
    const input = { keys: [...keys], arguments: [...args] };
    return evalIfMissing(
      () => client.evalSha(sha, input),
      () => client.eval(source, input),
    );
  };
}

/** Sends a script by its hash, and its source if the server does not have the script, as after a restart. */
async function evalIfMissing(
  bySha: () => Promise<unknown>,
  bySource: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await bySha();
  } catch (error) {
    if (!isReplyError(error, "NOSCRIPT")) throw error;
    return await bySource();
  }
}

/** Before version 7, Redis wraps the error of a command in a script in another error. */
const IN_SCRIPT = /^ERR Error running script.*? -([A-Z]+) /;

/** True if Redis replied with one of these error codes. */
export function isReplyError(error: unknown, ...codes: readonly string[]): boolean {
  if (!(error instanceof Error)) return false;
  const code = IN_SCRIPT.exec(error.message)?.[1] ?? error.message.split(" ", 1)[0];
  return code !== undefined && codes.includes(code);
}
