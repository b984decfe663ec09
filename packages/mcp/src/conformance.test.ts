import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createMcpFeature } from "./mcp.js";
import { addFixtureTools } from "./testing/fixture-tools.js";
import { KEYS, openMcpServer } from "./testing/open-server.js";

/** The scenarios of the suite for servers: that they pass, or why they do not apply. `docs/suites.md` shows them. */
const SCENARIOS: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(new URL("testing/conformance-scenarios.json", import.meta.url), "utf8"),
);

it("passes the scenarios of the conformance suite of MCP that apply", async () => {
  const folder = await mkdtemp(join(tmpdir(), "calotype-mcp-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { url } = await openMcpServer(
    {},
    {
      // The suite sends no key.
      defaultKey: KEYS.agent,
      feature: (origin) => createMcpFeature({ publicUrl: origin }, addFixtureTools),
    },
  );

  const summary = await runSuite(["server", "--url", url.href, "--suite", "all", "--output-dir", folder]);

  const results = [...summary.matchAll(/^. (\S+): (\d+) passed, (\d+) failed$/gm)];
  const passed = results.filter(([, , successes, failures]) => successes !== "0" && failures === "0");
  expect(new Set(results.map(nameOf))).toEqual(new Set(Object.keys(SCENARIOS)));
  expect(new Set(passed.map(nameOf))).toEqual(
    new Set(Object.keys(SCENARIOS).filter((name) => SCENARIOS[name] === "passes")),
  );
});

function nameOf([, name]: readonly string[]): string | undefined {
  return name;
}

const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));

/** Runs the suite in a process of its own. It exits with 1, because some scenarios do not apply. */
function runSuite(args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
