import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "@calotype/conformance/support/find-free-port";
import { startChild } from "../system/child.ts";
import type { StartContext, Target } from "../target.ts";
import { waitForPort } from "./wait-for-port.ts";

/** The versions in Portkey's own lock file. With newer versions it responds with 500 to streams and edits. */
const MANIFEST = {
  private: true,
  dependencies: { "@portkey-ai/gateway": "1.15.2", "@hono/node-server": "1.13.5", hono: "4.9.7" },
  overrides: { "@hono/node-server": "1.13.5", hono: "4.9.7" },
};
const FOLDER = join(tmpdir(), "calotype-bench-portkey-1.15.2");
const BUILD = join(FOLDER, "node_modules/@portkey-ai/gateway/build");
const SERVER = join(BUILD, "start-server.js");
const QUIET_SERVER = join(BUILD, "start-server-without-log.js");
const MAX_INSTALL_MS = 180_000;

/** The place in Portkey's source where the logging middleware starts. */
const LOG_CONDITION = 'if(!e.req.url.includes("/v1/"))return;';

/**
 * Installs Portkey into a cache folder, if that is allowed. Returns the reason why it cannot take part, if there is
 * one.
 */
export function findPortkeyObstacle(mayInstall: boolean): string | undefined {
  if (existsSync(SERVER)) return undefined;
  if (!mayInstall) return "Portkey is not in the cache; a run without --quick installs it";
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "package.json"), JSON.stringify(MANIFEST));
  const options = ["--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts"];
  const { status, stderr } = spawnSync("npm", ["install", ...options], {
    cwd: FOLDER,
    timeout: MAX_INSTALL_MS,
    encoding: "utf8",
  });
  if (status === 0 && existsSync(SERVER)) return undefined;
  return `Portkey could not be installed: ${(stderr ?? "").trim().split("\n").at(-1)}`;
}

/** Starts Portkey like its own package does, with the upstream as a custom OpenAI host. */
export async function startPortkey({
  upstream,
  core,
  withLog,
}: StartContext & { withLog: boolean }): Promise<Target> {
  const port = await findFreePort();
  const command = [process.execPath, withLog ? SERVER : createQuietServer(), "--headless", `--port=${port}`];
  const child = startChild(command, {
    core,
    cwd: FOLDER,
    hasMessages: false,
    env: { TRUSTED_CUSTOM_HOSTS: "127.0.0.1" },
  });
  await waitForPort(port).catch((cause: unknown) => {
    throw new Error(`Portkey did not start: ${child.output()}`, { cause });
  });
  return {
    pid: child.pid,
    origin: `http://127.0.0.1:${port}`,
    headers: { "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstream}/v1` },
    stop: () => child.stop(),
  };
}

function createQuietServer(): string {
  const source = readFileSync(SERVER, "utf8");
  if (source.split(LOG_CONDITION).length !== 2)
    throw new Error("Portkey's log middleware is not where it was.");
  writeFileSync(QUIET_SERVER, source.replace(LOG_CONDITION, "return;"));
  return QUIET_SERVER;
}
