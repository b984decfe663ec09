import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transformSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CodeBlock, extractFromMarkdown } from "./support/extract-code.js";
import { ENDS_WITH_ERROR, runOnBusyPort } from "./support/run-on-busy-port.js";
import { findFiles, ROOT, readText } from "./support/workspace.js";

/*
 * A program whose port is busy prints the error and ends with 1. Runs each server of the documents and of `examples` on such
 * a port. The apps of `npm create calotype` have the same test. Not here: Next.js, Deno and Workers, which listen themselves.
 */

/** In node_modules, so that imports find the packages of this one. */
const FOLDER = join(ROOT, "packages/conformance/node_modules/.busy-port");
const BUN = join(ROOT, "packages/runtimes/node_modules/@oven/bun-linux-x64/bin/bun");
/** What the programs read. Without the keys of the user's environment, examples use the emulator. */
const ENV = {
  ARK_API_KEY: "any",
  ARK_BASE_URL: "http://127.0.0.1:9/api/v3",
  DASHSCOPE_API_KEY: "",
  DASHSCOPE_BASE_URL: "",
  CALOTYPE_API_KEY: "sk-local",
  CALOTYPE_CONFIG: "",
  CALOTYPE_LEDGER: "",
  CALOTYPE_RESULTS: "",
  WEB_SHOP_KEY: "sk-shop",
  WEB_SHOP_KEY_HASH: "0".repeat(64),
  TRIAL_KEY_HASH: "1".repeat(64),
};
const PRICES = { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } };

beforeAll(() => {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "prices.json"), JSON.stringify(PRICES));
});
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const SERVERS: readonly CodeBlock[] = findFiles(
  "README.md",
  "docs/**/*.md",
  "packages/*/README.md",
  "packages/site/pages/**/*.md",
)
  .flatMap((path) => extractFromMarkdown(path, readText(path)))
  // Code that listens when it is loaded, and not in a function that the block only defines.
  .filter(({ code }) => /\b8787\b/.test(code) && !/^export function/m.test(code))
  .filter(({ code }) => /\b(?:listen|serve)\(/.test(code) && !code.includes("Deno.serve"));

describe("servers of the documents end with an error on a busy port", () => {
  it.concurrent.each(SERVERS)("$path:$line", async ({ path, line, code }) => {
    const program = path.endsWith("bun.md") ? BUN : process.execPath;
    const result = await runOnBusyPort(
      (port) => {
        const file = join(FOLDER, `${path.replaceAll("/", "-")}-${line}.mjs`);
        // The folder of docs/deployment.md belongs to the machine.
        const here = code.replaceAll("8787", String(port)).replace("/var/lib/gateway/", "");
        writeFileSync(file, transformSync(here, { loader: "ts", target: "node22" }).code);
        return [program, file];
      },
      { cwd: FOLDER, env: ENV },
    );

    expect(result).toEqual({ ...ENDS_WITH_ERROR, output: expect.any(String) });
  });
});

describe("programs of the repository end with an error on a busy port", () => {
  it.concurrent.each([
    "examples/commonjs-app/server.js",
    "examples/express-app/server.ts",
    "examples/koa-app/server.ts",
    "examples/metrics/server.ts",
    "examples/signed-in-users/server.ts",
    "examples/web-standard/serve.ts",
    "packages/emulator/dist/command.js",
  ])("%s", async (path) => {
    const result = await runOnBusyPort(
      (port) => [
        process.execPath,
        join(ROOT, path),
        ...(path.includes("emulator") ? ["--port", String(port)] : []),
      ],
      { cwd: FOLDER, env: ENV },
    );

    expect(result).toEqual({ ...ENDS_WITH_ERROR, output: expect.any(String) });
  });
});
