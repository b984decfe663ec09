import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createGateway, type GatewayOptions, type ImageRequest, type UsageRecord } from "@calotype/core";
import { createFamilyChecks } from "@calotype/core/testing";
import { createEmulator, type Emulator, type Fault } from "@calotype/emulator";
import { createSqliteLedger } from "@calotype/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { fluxFamily } from "./flux-family.ts";
import { toOptions } from "./gateway-options.ts";

const CALLER_KEY = "caller-canary-30c55b02";
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function startProvider(...faults: Fault[]): Promise<{ emulator: Emulator; baseUrl: string }> {
  const emulator = createEmulator();
  const server = await emulator.listen();
  onTestFinished(() => server.close());
  for (const fault of faults) emulator.faults.add({ provider: "bfl", ...fault });
  return { emulator, baseUrl: server.baseUrls.bfl };
}

/** A gateway in this process. */
function open(baseUrl: string, options: Partial<GatewayOptions> = {}) {
  const records: UsageRecord[] = [];
  const gateway = createGateway({
    ...toOptions(baseUrl),
    onUsage: (record) => void records.push(record),
    ...options,
  });
  onTestFinished(() => gateway.close());
  const ask = async (path: string, fields?: object) => {
    const request = new Request(`http://gateway.test/v1/images/${path}`, {
      method: fields === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      ...(fields !== undefined && { body: JSON.stringify({ model: "flux", prompt: "a fox", ...fields }) }),
    });
    const response = await gateway.fetch(request);
    const text = await response.text();
    return { status: response.status, text, body: text.startsWith("{") ? JSON.parse(text) : {} };
  };
  return { gateway, records, ask };
}

/** The requests to the provider: `submit`, `poll`, or `link` for the download of an image. */
function kindsOf({ requests }: Emulator): string[] {
  return requests.map(({ method, route, url }) =>
    route === "link" ? "link" : method === "POST" ? "submit" : url.includes("/get_result") ? "poll" : url,
  );
}

/** Responses as in BFL's reference (November 2026). */
const checks = createFamilyChecks({
  family: fluxFamily,
  model: "flux-2-pro",
  exchanges: [
    {
      name: "an image",
      request: { fields: { prompt: "a fox", size: "1024x1024" } },
      response: {
        body: {
          id: "c2d3",
          polling_url: "https://api.eu.bfl.ai/v1/get_result?id=c2d3",
          cost: 3,
          input_mp: 0,
          output_mp: 1,
        },
      },
      job: {
        polls: [
          { body: { id: "c2d3", status: "Pending", result: null, progress: null, details: null } },
          {
            body: {
              id: "c2d3",
              status: "Ready",
              result: { sample: "https://93.184.216.34/1.jpeg", seed: 7, prompt: "a fox" },
            },
          },
        ],
      },
      expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.03" } },
    },
    {
      name: "an edit",
      request: { operation: "edit", fields: { prompt: "a fox" } },
      response: { body: { id: "c2d4", polling_url: "https://api.bfl.ai/v1/get_result?id=c2d4", cost: 4.5 } },
      job: { polls: [{ body: { status: "Ready", result: { sample: "https://93.184.216.34/1.jpeg" } } }] },
      expects: { images: 1, usage: { generated_images: 1, cost_usd: "0.045" } },
    },
    {
      name: "a moderated request",
      request: { fields: { prompt: "a fox" } },
      response: { body: { id: "c2d5", polling_url: "https://api.bfl.ai/v1/get_result?id=c2d5" } },
      job: {
        polls: [
          { body: { status: "Pending" } },
          { body: { status: "Request Moderated", details: { "Moderation Reasons": ["x"] } } },
        ],
      },
      expects: { images: 0, status: 400, code: "Request Moderated" },
    },
  ],
  failures: [
    { status: 402, kind: "quota", body: { detail: "Insufficient credits" } },
    { status: 403, kind: "credential", body: { detail: "Not authenticated" } },
    {
      status: 422,
      kind: "content",
      body: { detail: [{ loc: ["body", "width"], msg: "Too large", type: "value_error" }] },
    },
    { status: 429, kind: "rate", body: { detail: "Too many active tasks" } },
  ],
});

it.each(checks)("$name", async ({ run }) => {
  await expect(run()).resolves.toBeUndefined();
});

it("a request waits for its job, and the record has the provider's cost", async () => {
  const { emulator, baseUrl } = await startProvider({ task: { runningPolls: 2 } });
  const { ask, records, gateway } = open(baseUrl);
  const { status, body } = await ask("generations", { size: "1024x1024" });

  expect({ status, data: body.data }).toMatchObject({ status: 200, data: [{ size: "1024x1024" }] });
  expect((await fetch(body.data[0].url)).headers.get("content-type")).toMatch(/^image\//);
  expect(kindsOf(emulator).slice(0, 4)).toEqual(["submit", "poll", "poll", "poll"]);
  await gateway.close();
  expect(records).toMatchObject([{ images: 1, charge: "0.05", usage: { cost_usd: "0.03" } }]);
});

it.each([
  [4.35, "0.0435"],
  [0.000_04, "0.0000004"],
])("%f cents are exactly %s dollars", (cost, dollars) => {
  const submission = fluxFamily.jobs?.readSubmission({ id: "a", cost }, {} as ImageRequest);

  expect(submission).toMatchObject({ job: { usage: { cost_usd: dollars } } });
});

it("several images are several jobs, and base64 is downloaded before the links expire", async () => {
  const { emulator, baseUrl } = await startProvider();
  const { ask, records, gateway } = open(baseUrl);
  const { body } = await ask("generations", { n: 2, response_format: "b64_json" });

  expect(body.data).toEqual([{ b64_json: expect.any(String) }, { b64_json: expect.any(String) }]);
  expect(kindsOf(emulator).filter((kind) => kind === "submit")).toHaveLength(2);
  await gateway.close();
  expect(records).toMatchObject([{ images: 2, charge: "0.1" }]);
});

it("an edit sends its images as base64 without a prefix, and a stream gets its events", async () => {
  const { emulator, baseUrl } = await startProvider();
  const { ask } = open(baseUrl, { streamFormat: "openai" });
  const { text } = await ask("edits", { image: [PNG, PNG], stream: true });

  expect(text).toContain("event: image_edit.completed");
  expect(emulator.requests[0]?.body).toMatchObject({
    input_image: PNG.slice("data:image/png;base64,".length),
    input_image_2: PNG.slice("data:image/png;base64,".length),
  });
});

it.each<readonly [string, Fault, number, string]>([
  ["a moderated image", { task: { end: "moderation" } }, 400, "Content Moderated"],
  ["a failed job", { task: { end: "failed" } }, 502, "Error"],
  ["a job that is lost", { task: { end: "lost" } }, 502, "Task not found"],
  ["a URL on another host", { pollOrigin: "http://127.0.0.1:1" }, 502, "upstream_invalid_response"],
])("%s is not submitted again", async (_name, fault, status, code) => {
  const { emulator, baseUrl } = await startProvider(fault);
  const { ask } = open(baseUrl);

  expect(await ask("generations", {})).toMatchObject({ status, body: { error: { code } } });
  expect(kindsOf(emulator).filter((kind) => kind === "submit")).toHaveLength(1);
});

it("polls that fail are repeated", async () => {
  const { emulator, baseUrl } = await startProvider({ operation: "poll", code: "internal_error", times: 2 });
  const { ask } = open(baseUrl);

  expect((await ask("generations", {})).status).toBe(200);
  expect(kindsOf(emulator).filter((kind) => kind === "submit")).toHaveLength(1);
});

it("a task of a process that is killed while it waits is completed by another one", async () => {
  // The first poll of the killed process gets no response.
  const { emulator, baseUrl } = await startProvider({ operation: "poll", latencyMs: 60_000, times: 1 });
  const directory = await mkdtemp(join(tmpdir(), "calotype-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const path = join(directory, "ledger.sqlite");
  const program = join(import.meta.dirname, "gateway-process.ts");
  const child = spawn(process.execPath, [program, baseUrl, path], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const [line] = await once(child.stdout, "data");
  const { id } = JSON.parse(String(line));
  while (!kindsOf(emulator).includes("poll")) await sleep(20);
  child.kill("SIGKILL");
  await exited;

  const ledger = createSqliteLedger({ path, leaseSeconds: 1 });
  onTestFinished(() => ledger.close());
  await sleep(1_500);
  const { ask, gateway, records } = open(baseUrl, { ledger });
  gateway.start();
  const { body } = await ask(`tasks/${id}?wait=30`);

  expect(body).toMatchObject({ status: "completed", result: { data: [{ url: expect.any(String) }] } });
  expect(kindsOf(emulator).filter((kind) => kind === "submit")).toHaveLength(1);
  await gateway.close();
  expect(records).toMatchObject([
    { state: "settled", images: 1, charge: "0.05", usage: { cost_usd: "0.03" } },
  ]);
  expect(await ledger.balance("tester")).toEqual({ settled: "0.05", held: "0" });
});
