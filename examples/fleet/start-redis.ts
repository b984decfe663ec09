import { join } from "node:path";
import { findPort, type Running, startProgram } from "./program.ts";

/** A server of the script's own, and where it is. */
export interface Server extends Running {
  readonly url: string;
}

/** Starts `redis-server`, as compose.yaml does, in a folder. */
export async function startRedis(folder: string): Promise<Server> {
  const port = await findPort();
  const program = process.env["REDIS_SERVER"] || "redis-server";
  const where = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder];
  const policy = ["--appendonly", "yes", "--maxmemory-policy", "noeviction"];
  const log = ["--logfile", join(folder, "redis.log")];
  const running = await startProgram(program, [...where, ...policy, ...log], { name: program, port });
  return { ...running, url: `redis://127.0.0.1:${port}` };
}
