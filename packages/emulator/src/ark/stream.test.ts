import type { EventSourceMessage } from "eventsource-parser";
import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import { arkUrl, askArk } from "../test-support/ask.js";
import { inspect } from "../test-support/images.js";
import { readEvents } from "../test-support/read-events.js";

async function stream(faults: readonly Fault[], fields: object = {}, max_images = 2) {
  const emulator = createEmulator({ now: () => 1_763_683_200_000 });
  emulator.faults.add(...faults);
  const batch = { sequential_image_generation: "auto", sequential_image_generation_options: { max_images } };
  const response = await askArk(emulator, { stream: true, ...batch, ...fields });
  return { ...response, events: readEvents(response.text) };
}

const common = { model: "doubao-seedream-4-5-251128", created: 1_763_683_200 };
const partial = "image_generation.partial_succeeded";
const names = (events: readonly EventSourceMessage[]) => events.map(({ event, data }) => event ?? data);

describe("a stream of Ark", () => {
  it("sends an event per image, then completed, then [DONE]", async () => {
    const { status, headers, events } = await stream([]);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("text/event-stream");
    expect(names(events)).toEqual([partial, partial, "image_generation.completed", "[DONE]"]);
    const [first, second, completed] = events.slice(0, 3).map(({ data }) => JSON.parse(data) as unknown);
    const url = expect.stringContaining("/ark-results/");
    expect(first).toStrictEqual({ type: partial, ...common, image_index: 0, url, size: "2048x2048" });
    expect(second).toStrictEqual({ type: partial, ...common, image_index: 1, url, size: "2048x2048" });
    expect(completed).toStrictEqual({
      type: "image_generation.completed",
      ...common,
      usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 },
    });
  });

  it("contains whole images as b64_json", async () => {
    const { events } = await stream([], { response_format: "b64_json" }, 1);
    const { b64_json, url } = JSON.parse(events[0]?.data ?? "") as { b64_json: string; url?: string };
    expect(url).toBeUndefined();
    expect(await inspect(Buffer.from(b64_json, "base64"))).toMatchObject({ width: 2048, height: 2048 });
  });

  it("names a failed image in partial_failed and goes on", async () => {
    const { events } = await stream([{ failImages: [{ index: 0 }] }]);
    expect(names(events).slice(0, 2)).toEqual(["image_generation.partial_failed", partial]);
    expect(JSON.parse(events[0]?.data ?? "")).toStrictEqual({
      type: "image_generation.partial_failed",
      ...common,
      image_index: 0,
      error: {
        code: "OutputImageSensitiveContentDetected",
        message: expect.stringContaining("Request id: "),
      },
    });
    expect(JSON.parse(events[2]?.data ?? "")).toMatchObject({ usage: { generated_images: 1 } });
  });

  it("completes early after an internal error of one image", async () => {
    const { events } = await stream([{ failImages: [{ index: 1, code: "InternalServiceError" }] }], {}, 4);
    expect(names(events)).toEqual([
      partial,
      "image_generation.partial_failed",
      "image_generation.completed",
      "[DONE]",
    ]);
  });

  it.each([0, 1])("breaks with an error event after %i images", async (count) => {
    const fault = { streamErrorAfterImages: count, code: "ServerOverloaded", message: "Too much." };
    const { status, events } = await stream([fault]);
    expect(status).toBe(200);
    expect(names(events)).toEqual([...Array.from({ length: count }, () => partial), "error"]);
    expect(JSON.parse(events.at(-1)?.data ?? "")).toStrictEqual({
      error: { code: "ServerOverloaded", message: expect.stringMatching(/^Too much\. Request id: /) },
    });
  });

  it("can end without [DONE], without usage, and carry an undocumented event", async () => {
    const { events } = await stream([{ omitDone: true, omitUsage: true, unknownEvents: true }], {}, 1);
    expect(names(events)).toEqual(["image_generation.partial_image", partial, "image_generation.completed"]);
    expect(events.at(-1)?.data).not.toContain("usage");
  });

  it("can break off in the middle of an event", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ malformedJson: true });
    const { headers, text } = await askArk(emulator, { stream: true });
    expect(headers.get("content-type")).toContain("text/event-stream");
    expect(text).toMatch(/^event: image_generation\.partial_succeeded\ndata: \{/);
    expect(text).not.toContain("\n\n");
  });

  it("is a plain JSON error when the request is refused", async () => {
    const { status, headers, body } = await askArk(createEmulator(), { stream: true, size: "1x1" });
    expect(status).toBe(400);
    expect(headers.get("content-type")).toContain("application/json");
    expect(body.error.code).toBe("InvalidParameter");
  });

  it("sends each image as soon as it is made, and stops when the client disconnects", async () => {
    const emulator = createEmulator({ millisecondsPerImage: 60 });
    const leave = new AbortController();
    const body = JSON.stringify({
      model: common.model,
      prompt: "a fox",
      stream: true,
      sequential_image_generation: "auto",
    });
    const headers = { authorization: "Bearer k" };
    const response = await emulator.fetch(
      new Request(arkUrl, { method: "POST", headers, body, signal: leave.signal }),
    );
    const reader = response.body?.getReader();
    const startedAt = performance.now();
    const first = await reader?.read();
    expect(performance.now() - startedAt).toBeLessThan(400);
    expect(new TextDecoder().decode(first?.value)).toContain('"image_index":0');
    leave.abort();
    await expect(reader?.read()).rejects.toThrow("abort");
  });
});
