import { join } from "node:path";
import { findPort, type Running, startProgram } from "./program.ts";

/** A server that the script has started, and its address. */
export interface Server extends Running {
  readonly url: string;
}

/** Starts `redis-server` in a folder, with the settings of compose.yaml. */
export async function startRedis(folder: string): Promise<Server> {
  const port = await findPort();
  const program = process.env["REDIS_SERVER"] || "redis-server";
  const where = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder];
  const policy = ["--appendonly", "yes", "--maxmemory-policy", "noeviction"];
  const log = ["--logfile", join(folder, "redis.log")];
  const running = await startProgram(program, [...where, ...policy, ...log], { name: program, port });
  return { ...running, url: `redis://127.0.0.1:${port}` };
}
