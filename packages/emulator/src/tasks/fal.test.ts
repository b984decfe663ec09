import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { TaskFault } from "../faults/fault.js";
import type { EmulatorOptions } from "../options.js";
import { download } from "../test-support/ask.js";
import { askJson } from "../test-support/ask-json.js";
import { dataUrl } from "../test-support/images.js";
import { readEvents } from "../test-support/read-events.js";

const headers = { authorization: "Key k", "content-type": "application/json" };

interface Status {
  readonly request_id: string;
  readonly status: string;
  readonly response_url: string;
  readonly status_url: string;
  readonly cancel_url: string;
  readonly error?: string;
}

interface Result {
  readonly images: readonly { url: string; width: number; height: number; content_type: string }[];
  readonly detail?: unknown;
}

function submit(emulator: Emulator, fields: object = {}, endpoint = "fal/fal-ai/flux-2") {
  const body = { prompt: "a fox", ...fields };
  return askJson<Status>(emulator, `http://emulator.test/${endpoint}`, { method: "POST", headers, body });
}

function onAClock(options: EmulatorOptions = {}) {
  const clock = { now: Date.parse("2026-11-21T09:30:00Z") };
  return { clock, emulator: createEmulator({ images: "tiny", now: () => clock.now, ...options }) };
}

describe("fal's queue", () => {
  it("goes from IN_QUEUE to COMPLETED, with the result at another link", async () => {
    const { clock, emulator } = onAClock({ millisecondsInQueue: 1000, millisecondsPerImage: 2000 });
    const { body } = await submit(
      emulator,
      { num_images: 2, seed: 5, image_size: "landscape_16_9" },
      "fal/fal-ai/flux-2/turbo",
    );
    const base = `http://emulator.test/fal/fal-ai/flux-2/requests/${body.request_id}`;
    expect(body).toStrictEqual({
      request_id: expect.any(String),
      status: "IN_QUEUE",
      queue_position: 0,
      response_url: base,
      status_url: `${base}/status`,
      cancel_url: `${base}/cancel`,
    });
    const read = () => askJson<Status>(emulator, body.status_url, { headers });
    expect(await read()).toMatchObject({ status: 202, body: { status: "IN_QUEUE" } });
    clock.now += 1000;
    expect(await read()).toMatchObject({ status: 202, body: { status: "IN_PROGRESS" } });
    const early = await askJson<Result>(emulator, body.response_url, { headers });
    expect([early.status, early.body.detail]).toEqual([400, "Request is still in progress"]);
    clock.now += 4000;
    expect(await read()).toMatchObject({ status: 200, body: { status: "COMPLETED" } });
    const {
      status,
      headers: sent,
      body: result,
    } = await askJson<Result>(emulator, body.response_url, { headers });
    expect([status, sent.get("x-fal-request-id")]).toEqual([200, expect.any(String)]);
    const image = { url: expect.any(String), width: 1024, height: 576, content_type: "image/jpeg" };
    expect(result).toMatchObject({ images: [image, image], seed: 5, has_nsfw_concepts: [false, false] });
    expect((await download(emulator, result.images[0]?.url)).status).toBe(200);
  });

  it("returns data URLs in sync_mode", async () => {
    const { emulator } = onAClock();
    const { body } = await submit(emulator, { sync_mode: true, output_format: "png" });
    const result = await askJson<Result>(emulator, body.response_url, { headers });
    expect(result.body.images[0]?.url).toMatch(/^data:image\/png;base64,iVBOR/);
  });

  it("streams the states", async () => {
    const { emulator } = onAClock();
    emulator.faults.add({ task: { runningPolls: 2 } });
    const { body } = await submit(emulator);
    const response = await emulator.fetch(`${body.status_url}/stream`, { headers });
    const events = readEvents(await response.text()).map(({ data }) => JSON.parse(data) as Status);
    expect(events.map(({ status }) => status)).toEqual(["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]);
  });

  it("cancels a task once", async () => {
    const { emulator } = onAClock({ millisecondsPerImage: 1000 });
    const { body } = await submit(emulator);
    const cancel = () => askJson(emulator, body.cancel_url, { method: "PUT", headers });
    expect(await cancel()).toMatchObject({ status: 202, body: { status: "CANCELLATION_REQUESTED" } });
    expect(await cancel()).toMatchObject({ status: 400, body: { status: "ALREADY_COMPLETED" } });
    expect((await askJson<Result>(emulator, body.response_url, { headers })).body.detail).toBe(
      "Request was cancelled",
    );
    const unknown = body.cancel_url.replace(body.request_id, "x");
    expect((await askJson(emulator, unknown, { method: "PUT", headers })).status).toBe(404);
  });

  it.each<[TaskFault, number, unknown, string]>([
    [{ end: "failed" }, 500, "Internal server error", "internal_server_error"],
    [{ end: "failed", code: "generation_timeout" }, 504, "Generation timeout", "generation_timeout"],
    [
      { end: "moderation", message: "No." },
      422,
      [{ loc: ["body", "prompt"], msg: "No.", type: "content_policy_violation" }],
      "content_policy_violation",
    ],
  ])("shows the end %j in the status and as the status of the result", async (task, status, detail, type) => {
    const { emulator } = onAClock();
    emulator.faults.add({ task });
    const { body } = await submit(emulator);
    const polled = await askJson<Status>(emulator, body.status_url, { headers });
    expect(polled.body).toMatchObject({ status: "COMPLETED", error_type: type });
    const result = await askJson<Result>(emulator, body.response_url, { headers });
    expect([result.status, result.body]).toEqual([status, { detail }]);
    expect(result.headers.get("x-fal-error-type")).toBe(type);
    expect(result.headers.get("x-fal-retryable")).toBe(String(status >= 500));
  });

  it("does not know a lost task, nor one of another app", async () => {
    const { emulator } = onAClock();
    emulator.faults.add({ task: { end: "lost" }, times: 1 });
    const { body } = await submit(emulator);
    expect((await askJson(emulator, body.status_url, { headers })).status).toBe(404);
    const other = (await submit(emulator)).body.status_url.replace("flux-2", "flux");
    expect((await askJson(emulator, other, { headers })).status).toBe(404);
  });

  it.each<[object, string | undefined, number, string]>([
    [{ prompt: "" }, undefined, 422, "missing"],
    [{ num_images: 5 }, undefined, 422, "value_error"],
    [{ image_size: "huge" }, undefined, 422, "value_error"],
    [{ image_url: "data:image/png;base64,AAAA" }, undefined, 422, "image_load_error"],
    [{}, "fal/fal-ai/flux-2/edit", 422, "missing"],
  ])("refuses %j", async (fields, endpoint, status, type) => {
    const { body, ...response } = await submit(createEmulator(), fields, endpoint);
    expect([response.status, response.headers.get("x-fal-error-type")]).toEqual([status, type]);
    expect(body).toMatchObject({ detail: [{ type }] });
  });

  it("needs a key with the scheme Key", async () => {
    const url = "http://emulator.test/fal/fal-ai/flux-2";
    const bearer = { authorization: "Bearer k" };
    const response = await askJson(createEmulator(), url, {
      method: "POST",
      headers: bearer,
      body: { prompt: "x" },
    });
    expect(response.status).toBe(401);
  });
});

describe("fal.run", () => {
  it("responds with the result itself", async () => {
    const { emulator } = onAClock();
    const image_urls = [await dataUrl()];
    const response = await submit(emulator, { image_urls }, "fal-run/fal-ai/flux-2/edit");
    expect([response.status, response.body]).toMatchObject([
      200,
      { images: [{ content_type: "image/jpeg" }] },
    ]);
    const refused = await submit(emulator, { prompt: "content_moderated" }, "fal-run/fal-ai/flux-2");
    expect(refused.status).toBe(422);
  });
});
