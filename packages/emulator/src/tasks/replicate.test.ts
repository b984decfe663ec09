import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { TaskFault } from "../faults/fault.js";
import { download } from "../test-support/ask.js";
import { askJson } from "../test-support/ask-json.js";
import { dataUrl, inspectLink } from "../test-support/images.js";

const headers = { authorization: "Bearer k", "content-type": "application/json" };
const base = "http://emulator.test/replicate/v1";

interface Prediction {
  readonly id: string;
  readonly status: string;
  readonly output: string | readonly string[] | null;
  readonly error: string | null;
  readonly urls: { readonly get: string; readonly cancel: string };
}

function create(
  emulator: Emulator,
  input: object = {},
  path = "models/black-forest-labs/flux-2-pro/predictions",
) {
  const body = { input: { prompt: "a fox", ...input } };
  return askJson<Prediction>(emulator, `${base}/${path}`, { method: "POST", headers, body });
}

const get = (emulator: Emulator, url: string) => askJson<Prediction>(emulator, url, { headers });

describe("a prediction of Replicate", () => {
  it("goes from starting to succeeded, with a link of an hour", async () => {
    const clock = { now: Date.parse("2026-11-21T09:30:00Z") };
    const emulator = createEmulator({ now: () => clock.now });
    emulator.faults.add({ task: { runningPolls: 2 } });
    const { status, body } = await create(emulator, { aspect_ratio: "custom", width: 512, height: 768 });
    expect([status, body]).toMatchObject([201, { status: "starting", output: null, error: null }]);
    const states = [];
    for (let count = 0; count < 2; count += 1) states.push((await get(emulator, body.urls.get)).body.status);
    const done = (await get(emulator, body.urls.get)).body;
    expect([...states, done.status]).toEqual(["starting", "processing", "succeeded"]);
    const link = String(done.output);
    expect(await inspectLink(emulator, link)).toMatchObject({ width: 512, height: 768 });
    clock.now += 3_601_000;
    expect((await download(emulator, link)).status).toBe(403);
  });

  it("of some models has a list as its output, and one by its version takes any field", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const { body } = await create(
      emulator,
      { num_outputs: 2 },
      "models/black-forest-labs/flux-schnell/predictions",
    );
    expect((await get(emulator, body.urls.get)).body.output).toHaveLength(2);
    const version = await askJson<Prediction>(emulator, `${base}/predictions`, {
      method: "POST",
      headers,
      body: { version: "00b07c32", input: { prompt: "a fox", image: await dataUrl() } },
    });
    expect((await get(emulator, version.body.urls.get)).body.output).toMatch(/^http/);
  });

  it.each<[TaskFault, string, RegExp]>([
    [{ end: "failed", message: "CUDA out of memory" }, "failed", /CUDA/],
    [{ end: "moderation" }, "failed", /E005/],
  ])("ends as the fault %j says", async (task, status, error) => {
    const emulator = createEmulator();
    emulator.faults.add({ task });
    const { body } = await create(emulator);
    const ended = (await get(emulator, body.urls.get)).body;
    expect(ended).toMatchObject({ status, output: null, error: expect.stringMatching(error) });
  });

  it("can be cancelled", async () => {
    const emulator = createEmulator({ millisecondsPerImage: 60_000 });
    const { body } = await create(emulator);
    await askJson(emulator, body.urls.cancel, { method: "POST", headers });
    expect((await get(emulator, body.urls.get)).body.status).toBe("canceled");
  });

  it.each<[object, string | undefined, number]>([
    [{ prompt: "" }, undefined, 422],
    [{ aspect_ratio: "9:1" }, undefined, 422],
    [{ input_images: Array(9).fill("https://example.com/a.png") }, undefined, 422],
    [{}, "models/nobody/nothing/predictions", 404],
  ])("is refused for %j", async (input, path, status) => {
    const response = await create(createEmulator(), input, path);
    expect([response.status, response.body]).toMatchObject([status, { detail: expect.any(String), status }]);
  });
});
