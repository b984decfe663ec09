import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { createMcpFeature } from "./mcp.js";
import { addFixtureTools } from "./testing/fixture-tools.js";
import { KEYS, openMcpServer } from "./testing/open-server.js";

const NO_SESSION =
  "It needs a session: the server sends a request to the client, or remembers something of it.";
const NO_LOGGING = "The server sends no log messages to clients: what it logs is for its operator.";
const NO_RESOURCES = "The server has tools, and no resources.";
const NO_PROMPTS = "The server has tools, and no prompts, so there is nothing to complete either.";

const PASSES = "passes";

/** The scenarios of the suite for servers: that they pass, or why they do not apply. */
const SCENARIOS: Readonly<Record<string, string>> = {
  "server-initialize": PASSES,
  ping: PASSES,
  "tools-list": PASSES,
  "tools-call-simple-text": PASSES,
  "tools-call-image": PASSES,
  "tools-call-audio": PASSES,
  "tools-call-embedded-resource": PASSES,
  "tools-call-mixed-content": PASSES,
  "tools-call-error": PASSES,
  "tools-call-with-progress": PASSES,
  "json-schema-2020-12": PASSES,
  "dns-rebinding-protection": PASSES,
  "tools-call-sampling": NO_SESSION,
  "tools-call-elicitation": NO_SESSION,
  "elicitation-sep1034-defaults": NO_SESSION,
  "elicitation-sep1330-enums": NO_SESSION,
  "server-sse-multiple-streams": NO_SESSION,
  "server-sse-polling": NO_SESSION,
  "logging-set-level": NO_LOGGING,
  "tools-call-with-logging": NO_LOGGING,
  "completion-complete": NO_PROMPTS,
  "prompts-list": NO_PROMPTS,
  "prompts-get-simple": NO_PROMPTS,
  "prompts-get-with-args": NO_PROMPTS,
  "prompts-get-embedded-resource": NO_PROMPTS,
  "prompts-get-with-image": NO_PROMPTS,
  "resources-list": NO_RESOURCES,
  "resources-read-text": NO_RESOURCES,
  "resources-read-binary": NO_RESOURCES,
  "resources-templates-read": NO_RESOURCES,
  "resources-subscribe": NO_RESOURCES,
  "resources-unsubscribe": NO_RESOURCES,
};

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
    new Set(Object.keys(SCENARIOS).filter((name) => SCENARIOS[name] === PASSES)),
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
