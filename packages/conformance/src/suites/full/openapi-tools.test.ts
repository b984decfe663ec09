import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { openApiDocument } from "@calotype/core/openapi";
import { toNodeHandler } from "@calotype/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { BODY_LIMIT, EXCHANGES, type Exchange } from "../../adapter-suite/exchanges.js";
import { findFreePort } from "../../support/find-free-port.js";
import { type Call, send } from "../../support/http-client.js";
import {
  CALLER_HEADERS,
  GENERATIONS,
  jsonCall,
  QWEN_IMAGE_BODY,
  SEEDREAM_BODY,
} from "../../support/image-calls.js";
import { listen } from "../../support/listen.js";
import { describeWithService, type Service } from "../../support/needs-service.js";
import { pnpm } from "../../support/packed-project.js";
import { run } from "../../support/run.js";
import { SEEDREAM, startGateway } from "../../support/test-gateway.js";
import { useProviders } from "../../support/use-providers.js";
import { ROOT } from "../../support/workspace.js";
import { expectCounts } from "../results.js";
import { RULES_OFF } from "../rules-off.js";

const PINNED = join(ROOT, "packages/conformance/fixtures/openapi-tools");

/** Spectral, IBM's ruleset and Prism, in a folder of their own. The address is the folder. */
const OPENAPI_TOOLS: Service = {
  name: "the registry of npm, for Spectral and Prism",
  variable: "CALOTYPE_OPENAPI_TOOLS",
  url: join(ROOT, "node_modules/.cache/openapi-tools"),
  probe: async (folder) => {
    mkdirSync(folder, { recursive: true });
    for (const file of ["package.json", "pnpm-lock.yaml"])
      copyFileSync(join(PINNED, file), join(folder, file));
    const options = ["--frozen-lockfile", "--ignore-scripts", "--ignore-workspace", "--prefer-offline"];
    run("npx", ["-y", pnpm(), "install", ...options], folder);
  },
};

/** A problem that Spectral found. */
interface Finding {
  readonly code: string;
  readonly message: string;
  readonly path: readonly string[];
}

/** A problem that Prism found: with the request or with the response, and where. */
interface Violation {
  readonly location: readonly string[];
  readonly message: string;
}

const IN_CHUNKS = "Prism forwards bodies with a content-length only.";
const NOT_JSON = "Prism never responds to a body that it cannot parse.";

/** Exchanges of the hosts that Prism does not pass on as they are, and why. */
const LOST_BY_PRISM: Readonly<Record<string, string>> = {
  "accepts a body in chunks": IN_CHUNKS,
  "refuses a body in chunks that grows too large": IN_CHUNKS,
  "checks the key before the body": NOT_JSON,
  "refuses JSON in another encoding than UTF-8": NOT_JSON,
  "refuses a body that is not JSON": NOT_JSON,
  'accepts the scheme "bearer" in lower case': "Prism compares the scheme with the case of its letters.",
};

const get = (path: string): Call => ({ method: "GET", path, headers: CALLER_HEADERS });
const post = (path: string, body: object, more: Readonly<Record<string, string>> = {}): Call => ({
  ...jsonCall(body, more),
  path,
});
const CHAT_BODY = { model: SEEDREAM, messages: [{ role: "user", content: "a red fox" }] };
const GOOGLE_BODY = { contents: [{ role: "user", parts: [{ text: "a red fox" }] }] };
const { prompt: _placeholder, ...DASHSCOPE_BODY } = QWEN_IMAGE_BODY;
const ALL = { openapi: true, tasks: {}, chatCompletions: true, geminiEndpoint: true } as const;

/** Exchanges of the paths that the suite of the hosts does not call. */
const MORE: readonly Exchange[] = [
  { behaviour: "estimates a request", call: post(`${GENERATIONS}/estimate`, SEEDREAM_BODY), status: 200 },
  { behaviour: "lists the models", call: get("/v1/models"), status: 200 },
  { behaviour: "describes a model", call: get(`/v1/models/${SEEDREAM}`), status: 200 },
  { behaviour: "does not know a model", call: get("/v1/models/unknown"), status: 404 },
  { behaviour: "shows the document", call: get("/openapi.json"), status: 200 },
  {
    behaviour: "submits a task",
    call: post(GENERATIONS, SEEDREAM_BODY, { prefer: "respond-async" }),
    status: 202,
  },
  { behaviour: "lists the tasks", call: get("/v1/images/tasks?limit=2"), status: 200 },
  { behaviour: "does not know a task", call: get(`/v1/images/tasks/task_${"0".repeat(32)}`), status: 404 },
  { behaviour: "completes a chat", call: post("/v1/chat/completions", CHAT_BODY), status: 200 },
  {
    behaviour: "streams a chat",
    call: post("/v1/chat/completions", { ...CHAT_BODY, stream: true }),
    status: 200,
  },
  {
    behaviour: "generates content",
    call: post(`/v1beta/models/${SEEDREAM}:generateContent`, GOOGLE_BODY),
    status: 200,
  },
  {
    behaviour: "streams generated content",
    call: post(`/v1beta/models/${SEEDREAM}:streamGenerateContent?alt=sse`, GOOGLE_BODY),
    status: 200,
  },
  {
    behaviour: "submits a task of DashScope",
    call: post("/api/v1/services/aigc/image-generation/generation", DASHSCOPE_BODY, {
      "x-dashscope-async": "enable",
    }),
    status: 200,
  },
].map((exchange) => ({ ...exchange, options: ALL }));

const OFF = Object.keys(RULES_OFF);
const RULESET = `import { oas } from "@stoplight/spectral-rulesets";
import ibm from "@ibm-cloud/openapi-ruleset";
export default { extends: [oas, ibm], rules: ${JSON.stringify(Object.fromEntries(OFF.map((rule) => [rule, "off"])))} };
`;

/** Prints the names of the rules that are on without our ruleset. */
const PRINT_RULES = `import { oas } from "@stoplight/spectral-rulesets";
import ibm from "@ibm-cloud/openapi-ruleset";
const own = Object.entries(oas.rules).filter(([, rule]) => rule.recommended !== false);
const rules = Object.entries({ ...Object.fromEntries(own), ...ibm.rules });
const isOn = ([, rule]) => rule !== "off" && rule !== false && rule.severity !== "off";
console.log(JSON.stringify(rules.filter(isOn).map(([name]) => name)));
`;

const providers = useProviders();

await describeWithService(OPENAPI_TOOLS, (folder) => {
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
  const document = { ...openApiDocument, servers: [{ url: "/" }] };

  it("Spectral finds nothing in the OpenAPI document, with its own rules and IBM's", async () => {
    write("ruleset.mjs", RULESET);
    write("print-rules.mjs", PRINT_RULES);
    write("openapi.json", JSON.stringify(document));
    const rules: readonly string[] = JSON.parse(run(process.execPath, ["print-rules.mjs"], folder));
    expect(OFF.filter((rule) => !rules.includes(rule))).toEqual([]);

    const options = ["--ruleset", "ruleset.mjs", "--format", "json", "--quiet"];
    const { stdout } = spawnSync("node_modules/.bin/spectral", ["lint", "openapi.json", ...options], {
      cwd: folder,
      encoding: "utf8",
    });

    const findings: readonly Finding[] = JSON.parse(stdout);
    expect(findings.map(({ code, message, path }) => `${code}: ${message} ${path.join("/")}`)).toEqual([]);
    await expectCounts("ibm-ruleset", {
      "rules hold": rules.length - OFF.length,
      "rules are off": OFF.length,
    });
  });

  it("Prism finds no response that the OpenAPI document does not describe, and accepts what the gateway accepts", async () => {
    write("openapi.json", JSON.stringify(document));
    let serve: RequestListener | undefined;
    // Prism is called before the first gateway is there, to see that it listens.
    const { url, close } = await listen((request, response) => {
      if (serve === undefined) response.end();
      else serve(request, response);
    });
    onTestFinished(close);
    const prism = await startPrism(folder, url);

    const problems: string[] = [];
    let refused = 0;
    const exchanges = [...EXCHANGES, ...MORE].filter(({ behaviour }) => !(behaviour in LOST_BY_PRISM));
    expect(exchanges).toHaveLength(EXCHANGES.length + MORE.length - Object.keys(LOST_BY_PRISM).length);
    for (const { behaviour, call, options, fault, status } of exchanges) {
      const { gateway } = startGateway(providers(), { bodyLimits: { json: BODY_LIMIT }, ...options });
      providers().emulator.reset();
      if (fault !== undefined) providers().emulator.faults.add(fault);
      serve = toNodeHandler(gateway);
      const response = await send(prism, call);
      if (response.status !== status) problems.push(`${behaviour}: ${response.status} ${response.text}`);
      const violations: readonly Violation[] = JSON.parse(response.headers["sl-violations"] ?? "[]");
      for (const { location, message } of violations) {
        if (location[0] === "request" && status >= 400) refused += 1;
        else problems.push(`${behaviour}: ${location.join("/")} ${message}`);
      }
    }

    expect(problems).toEqual([]);
    await expectCounts("prism", { exchanges: exchanges.length, "refused by both": refused });
  });
});

/** Starts Prism as a proxy that names problems in a header, and returns its address. */
async function startPrism(folder: string, upstream: string): Promise<string> {
  const port = await findFreePort();
  const options = ["proxy", "openapi.json", upstream, "--host", "127.0.0.1", "--port", String(port)];
  const prism = spawn("node_modules/.bin/prism", options, { cwd: folder, stdio: "ignore" });
  onTestFinished(async () => {
    prism.kill();
    if (prism.exitCode === null && prism.signalCode === null) await once(prism, "exit");
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitUntil(
    () =>
      fetch(url).then(
        () => true,
        () => false,
      ),
    { timeout: 30_000, interval: 200 },
  );
  return url;
}
