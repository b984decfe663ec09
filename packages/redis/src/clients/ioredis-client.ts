import type { RunScript } from "../scripts/script.js";
import { evalWhereMissing } from "./eval-where-missing.js";

/** What is used of a `Redis` or `Cluster` of ioredis. */
export interface IoredisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
}

export function runOnIoredis(client: IoredisClient): RunScript {
  return async (script, keys, args) =>
    await evalWhereMissing(
      () => client.evalsha(script.sha, keys.length, ...keys, ...args),
      () => client.eval(script.source, keys.length, ...keys, ...args),
    );
}
