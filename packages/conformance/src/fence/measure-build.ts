import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ROOT } from "../support/workspace.js";

const CORE = join(ROOT, "packages/core");
const run = promisify(execFile);

/** The size of a bundle for Workers after gzip, in hundreds of bytes, so that a new version of esbuild changes little. */
export const countBundle = (source: string) => async (): Promise<number> => {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    platform: "neutral",
    conditions: ["workerd", "import", "default"],
    mainFields: ["module", "main"],
    external: ["node:*", "stream"],
    logLevel: "error",
  });
  return Math.ceil(gzipSync(outputFiles[0]?.contents ?? "").length / 100);
};

/** Without compiled code of earlier runs: a user's process has none. */
const COLD = { cwd: CORE, env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" } };

/** Microseconds of CPU time that a new process takes to import a module. */
async function timeImport(specifier: string): Promise<number> {
  const source = `
    const begin = process.cpuUsage();
    await import(${JSON.stringify(specifier)});
    const { user, system } = process.cpuUsage(begin);
    console.log(user + system);`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], COLD);
  return Number(stdout);
}

/** Other work on the machine makes a measurement longer, never shorter. */
const MOST_ROUNDS = 25;

/**
 * How long the import of core takes, as a multiple of `import "undici"`: the fastest of several runs of each, measured in turns
 * and in CPU time. It measures until the result is at most the limit, because each round can only bring the figures closer to
 * those of an idle machine.
 */
export async function compareToUndici(limit: number): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY;
  let fastestOfUndici = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MOST_ROUNDS && (round < 3 || fastest / fastestOfUndici > limit); round++) {
    fastest = Math.min(fastest, await timeImport("@calotype/core"));
    fastestOfUndici = Math.min(fastestOfUndici, await timeImport("undici"));
  }
  return fastest / fastestOfUndici;
}
