import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { Fault, TaskFault } from "../faults/fault.js";
import type { EmulatorOptions } from "../options.js";
import { download } from "../test-support/ask.js";
import { askJson } from "../test-support/ask-json.js";
import { countColor, dataUrl, inspectLink } from "../test-support/images.js";

const headers = { "x-key": "k", "content-type": "application/json" };
const start = Date.parse("2026-11-21T09:30:00Z");

interface Submitted {
  readonly id: string;
  readonly polling_url: string;
  readonly cost: number;
  readonly detail?: unknown;
}

interface Polled {
  readonly id: string;
  readonly status: string;
  readonly result: { readonly sample: string; readonly seed: number } | null;
  readonly details: unknown;
}

function submit(emulator: Emulator, fields: object = {}, model = "flux-2-pro") {
  const body = { prompt: "a fox", ...fields };
  return askJson<Submitted>(emulator, `http://emulator.test/bfl/v1/${model}`, {
    method: "POST",
    headers,
    body,
  });
}

async function poll(emulator: Emulator, url: string): Promise<Polled> {
  const { status, body } = await askJson<Polled>(emulator, url, { headers });
  expect(status).toBe(200);
  return body;
}

function onAClock(options: EmulatorOptions = {}) {
  const clock = { now: start };
  return { clock, emulator: createEmulator({ images: "tiny", now: () => clock.now, ...options }) };
}

describe("a task of BFL", () => {
  it("is pending until its time has passed, then has a link of ten minutes", async () => {
    const { clock, emulator } = onAClock({ millisecondsInQueue: 1000, millisecondsPerImage: 4000 });
    const { body } = await submit(emulator, { seed: 7, width: 1024, height: 2048 });
    expect(body).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      polling_url: `http://emulator.test/bfl/v1/get_result?id=${body.id}`,
      cost: 4.5,
      input_mp: 0,
      output_mp: 2,
    });
    expect(await poll(emulator, body.polling_url)).toMatchObject({
      id: body.id,
      status: "Pending",
      result: null,
    });
    clock.now += 4999;
    expect((await poll(emulator, body.polling_url)).status).toBe("Pending");
    clock.now += 1;
    const { status, result } = await poll(emulator, body.polling_url);
    expect([status, result?.seed]).toEqual(["Ready", 7]);
    expect((await poll(emulator, body.polling_url)).result).toEqual(result);
    expect((await download(emulator, result?.sample)).status).toBe(200);
    clock.now += 600_000;
    expect((await download(emulator, result?.sample)).status).toBe(403);
    expect(emulator.requests.map(({ route }) => route)).toEqual([
      ...Array<string>(5).fill("bfl"),
      "link",
      "link",
    ]);
  });

  it("draws its input images, which are links or base64 without a prefix, and charges them", async () => {
    const emulator = createEmulator();
    const input_image = (await dataUrl({ width: 640, height: 640, color: "#20c040" })).replace(/^.*,/, "");
    const { body } = await submit(emulator, { input_image, input_image_2: "https://example.com/a.png" });
    expect(body.cost).toBe(6);
    const { result } = await poll(emulator, body.polling_url);
    const image = await inspectLink(emulator, result?.sample);
    expect(image).toMatchObject({ format: "jpeg", width: 640, height: 640 });
    expect(countColor(image, [32, 192, 64])).toBeGreaterThan(5000);
  });

  it("follows a large input image in its ratio, up to four megapixels", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const input_image = (await dataUrl({ width: 6000, height: 3000 })).replace(/^.*,/, "");
    expect((await submit(emulator, { input_image })).body).toMatchObject({ input_mp: 18, output_mp: 4 });
  });

  it.each<[string, object, readonly [number, number]]>([
    ["flux-3-image", { aspect_ratio: "16:9", resolution: "2k" }, [2736, 1536]],
    ["flux-3-image", { images: ["https://example.com/a.png"] }, [1024, 1024]],
    ["flux-kontext-pro", { aspect_ratio: "2:3" }, [832, 1248]],
  ])("of %s has a ratio: %j", async (model, fields, [width, height]) => {
    const emulator = createEmulator();
    const { body } = await submit(emulator, fields, model);
    const { result } = await poll(emulator, body.polling_url);
    expect(await inspectLink(emulator, result?.sample)).toMatchObject({ width, height });
  });

  it.each<[TaskFault, string, unknown]>([
    [{ end: "moderation" }, "Content Moderated", { "Moderation Reasons": ["Violence"] }],
    [{ end: "request-moderation" }, "Request Moderated", { "Moderation Reasons": ["Violence"] }],
    [{ end: "failed", message: "Broken." }, "Error", { error: "Broken." }],
    [{ end: "failed", code: "Failed" }, "Failed", null],
    [{ end: "lost" }, "Task not found", null],
    [{ stuck: true }, "Pending", null],
  ])("goes on as the fault %j says", async (task, status, details) => {
    const { emulator, clock } = onAClock();
    emulator.faults.add({ task });
    const { body } = await submit(emulator);
    clock.now += 3_600_000;
    expect(await poll(emulator, body.polling_url)).toMatchObject({ status, result: null, details });
  });

  it("runs for a number of polls", async () => {
    const { emulator } = onAClock();
    emulator.faults.add({ task: { runningPolls: 2 } });
    const { body } = await submit(emulator);
    const states = [];
    for (let count = 0; count < 3; count += 1) states.push((await poll(emulator, body.polling_url)).status);
    expect(states).toEqual(["Pending", "Pending", "Ready"]);
  });

  it("ends by its prompt", async () => {
    const { emulator } = onAClock();
    for (const [prompt, status] of [
      ["content_moderated", "Content Moderated"],
      ["request_moderated", "Request Moderated"],
    ]) {
      const { body } = await submit(emulator, { prompt });
      expect((await poll(emulator, body.polling_url)).status).toBe(status);
    }
  });

  it("has links with other origins, or expired ones, under faults", async () => {
    const { emulator } = onAClock();
    const [pollOrigin, linkOrigin] = ["http://api.eu.localhost:1", "http://delivery.localhost:2"];
    emulator.faults.add({ pollOrigin, linkOrigin, times: 1 }, { expiredLinks: true, times: 1 });
    const { body } = await submit(emulator);
    expect(new URL(body.polling_url).origin).toBe(pollOrigin);
    expect((await poll(emulator, body.polling_url)).result?.sample).toMatch(
      /^http:\/\/delivery\.localhost:2\/bfl-results\//,
    );
    const second = await submit(emulator);
    const { result } = await poll(emulator, second.body.polling_url);
    expect((await download(emulator, result?.sample)).status).toBe(403);
  });

  it("can be polled too often, and its download can fail, under faults for these operations", async () => {
    const { emulator } = onAClock();
    emulator.faults.add(
      { provider: "bfl", operation: "poll", status: 429, retryAfterSeconds: 1, times: 1 },
      { operation: "link", status: 500, times: 1 },
    );
    const { body } = await submit(emulator);
    const refused = await askJson<Submitted>(emulator, body.polling_url, { headers });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    const { result } = await poll(emulator, body.polling_url);
    expect((await download(emulator, result?.sample)).status).toBe(500);
    expect((await download(emulator, result?.sample)).status).toBe(200);
  });
});

describe("BFL refuses", () => {
  it.each<[object, string | undefined, number, unknown]>([
    [{ prompt: undefined }, undefined, 422, [{ loc: ["body", "prompt"], msg: "Field required" }]],
    [{ width: 1000 }, undefined, 422, [{ loc: ["body", "width"] }]],
    [{ width: 4096, height: 4096 }, undefined, 422, [{ loc: ["body", "width"] }]],
    [{ safety_tolerance: 7 }, undefined, 422, [{ loc: ["body", "safety_tolerance"] }]],
    [{ input_image: "data:image/png;base64,AAAA" }, undefined, 422, [{ loc: ["body", "input_image"] }]],
    [{}, "flux-9", 404, "Not Found"],
    [
      Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`input_image_${n}`, "https://example.com/a.png"])),
      "flux-2-klein-4b",
      422,
      [{ msg: "The model takes at most 4 input images" }],
    ],
  ])("%j for %s", async (fields, model, status, detail) => {
    const response = await submit(createEmulator(), fields, model);
    expect([response.status, response.body]).toMatchObject([status, { detail }]);
  });

  it.each<[Fault, number, string]>([
    [{ code: "insufficient_credits" }, 402, "Insufficient credits"],
    [{ wrongKey: true }, 403, "Not authenticated"],
    [{ status: 503 }, 503, "Service Unavailable"],
  ])("under the fault %j", async (fault, status, detail) => {
    const emulator = createEmulator();
    emulator.faults.add(fault);
    const response = await submit(emulator);
    expect([response.status, response.body.detail]).toEqual([status, expect.stringContaining(detail)]);
  });

  it("more than 24 tasks at the same time", async () => {
    const { clock, emulator } = onAClock({ millisecondsPerImage: 1000 });
    for (let count = 0; count < 24; count += 1) expect((await submit(emulator)).status).toBe(200);
    expect((await submit(emulator)).status).toBe(429);
    clock.now += 1000;
    expect((await submit(emulator)).status).toBe(200);
  });

  it("an unknown id with a state, and knows no task after a reset", async () => {
    const { emulator } = onAClock();
    const url = "http://emulator.test/bfl/v1/get_result?id=x";
    expect(await poll(emulator, url)).toMatchObject({ id: "x", status: "Task not found" });
    const { body } = await submit(emulator);
    emulator.reset();
    expect((await poll(emulator, body.polling_url)).status).toBe("Task not found");
  });
});
