import type { RunScript } from "../scripts/script.js";
import { evalWhereMissing } from "./eval-where-missing.js";

/** Keys and arguments of a script, as node-redis takes them. */
export interface NodeRedisScriptInput {
  keys: string[];
  arguments: string[];
}

/** What is used of a client, cluster, pool or sentinel of `redis` (node-redis). */
export interface NodeRedisClient {
  evalSha(sha: string, input: NodeRedisScriptInput): Promise<unknown>;
  eval(source: string, input: NodeRedisScriptInput): Promise<unknown>;
}

export function runOnNodeRedis(client: NodeRedisClient): RunScript {
  return async (script, keys, args) => {
    const input = { keys: [...keys], arguments: [...args] };
    return await evalWhereMissing(
      () => client.evalSha(script.sha, input),
      () => client.eval(script.source, input),
    );
  };
}
