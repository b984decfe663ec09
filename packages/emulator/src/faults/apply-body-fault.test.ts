import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { arkUrl, askArk, askDashscope } from "../test-support/ask.js";
import { arkInit, readBody, readUnder } from "../test-support/read-body.js";
import type { Amount, Fault } from "./fault.js";

const options = { seed: 5, now: () => 1_763_683_200_000, images: "tiny" } as const;
const prompts = { stream: true, sequential_image_generation: "auto", prompt: "3 images" };
const reset = expect.objectContaining({
  name: "TypeError",
  message: "terminated",
  cause: expect.objectContaining({ code: "ECONNRESET" }),
});

/** The same response without and with a fault. */
async function compare(fault: Fault, fields: object = {}) {
  const whole = await readUnder(createEmulator(options), {}, fields);
  return { whole, changed: await readUnder(createEmulator(options), fault, fields) };
}

describe.each([
  ["a JSON response", {}],
  ["a stream", prompts],
])("the body of %s", (_name, fields) => {
  it.each([1, 17, 200])("breaks after %i bytes", async (cutAfterBytes) => {
    const { whole, changed } = await compare({ body: { cutAfterBytes } }, fields);
    expect(changed.text).toBe(whole.text.slice(0, cutAfterBytes));
    expect(changed.error).toEqual(reset);
  });

  it("breaks before its first byte, after the headers", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add({ body: { cutAfterBytes: 0 } });
    const response = await emulator.fetch(arkUrl, arkInit(fields));
    expect(response.status).toBe(200);
    expect(await readBody(response)).toMatchObject({ text: "", error: reset });
  });

  it("breaks after its last byte, and arrives whole when the cut lies beyond it", async () => {
    const length = (await readUnder(createEmulator(options), {}, fields)).text.length;
    const after = await compare({ body: { cutAfterBytes: length } }, fields);
    expect(after.changed).toMatchObject({ text: after.whole.text, error: reset });
    const beyond = await compare({ body: { cutAfterBytes: length + 1 } }, fields);
    expect(beyond.changed).toMatchObject({ text: beyond.whole.text, error: undefined });
  });

  it.each<[string, Amount | number[], (sizes: number[]) => void]>([
    ["one byte at a time", 1, (sizes) => expect(new Set(sizes)).toEqual(new Set([1]))],
    [
      "in chunks over the events' bounds",
      1000,
      (sizes) => expect(new Set(sizes.slice(0, -1)).size).toBeLessThan(2),
    ],
    ["by a list, over and over", [3, 1, 40], (sizes) => expect(sizes.slice(0, 5)).toEqual([3, 1, 40, 3, 1])],
    [
      "by chance within a range",
      { min: 2, max: 9 },
      (sizes) => {
        expect(Math.min(...sizes.slice(0, -1))).toBe(2);
        expect(Math.max(...sizes)).toBe(9);
      },
    ],
  ])("comes %s", async (_how, chunkBytes, check) => {
    const { whole, changed } = await compare({ body: { chunkBytes } }, fields);
    expect(changed.text).toBe(whole.text);
    check(changed.chunks.map((chunk) => chunk.length));
  });

  it("starts late", async () => {
    const { changed } = await compare({ body: { delayMs: 60 } }, fields);
    expect(changed.times[0]).toBeGreaterThan(55);
  });

  it("sends chunks with pauses", async () => {
    const { whole, changed } = await compare({ body: { chunkBytes: 100, pauseMs: 15 } }, fields);
    expect(changed.text).toBe(whole.text);
    expect(changed.times.at(-1)).toBeGreaterThan((changed.chunks.length - 1) * 14);
    expect(changed.times[0]).toBeLessThan(50);
  });
});

describe("a fault of the body", () => {
  it("cuts and splits by the emulator's seed", async () => {
    const fault: Fault = { body: { chunkBytes: { min: 1, max: 50 }, cutAfterBytes: { min: 50, max: 150 } } };
    const cuts = async (seed: number) => {
      const emulator = createEmulator({ ...options, seed });
      const bodies = [];
      for (let count = 0; count < 4; count += 1) bodies.push((await readUnder(emulator, fault)).chunks);
      return bodies;
    };
    expect(await cuts(1)).toEqual(await cuts(1));
    expect(new Set((await cuts(1)).map((chunks) => chunks.join("").length)).size).toBeGreaterThan(1);
    expect(await cuts(2)).not.toEqual(await cuts(1));
  });

  it("concerns refusals too, and both providers", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add(
      { status: 500, body: { cutAfterBytes: 9 }, times: 1 },
      { body: { cutAfterBytes: 9 } },
    );
    const refused = await emulator.fetch(arkUrl, arkInit());
    expect(refused.status).toBe(500);
    expect(await readBody(refused)).toMatchObject({ text: '{"error":', error: reset });
    await expect(askDashscope(emulator)).rejects.toThrow("terminated");
  });

  it("leaves an empty body alone", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add({ emptyBody: true, status: 204, body: { cutAfterBytes: 0 } });
    expect(await askArk(emulator)).toMatchObject({ status: 204, text: "" });
  });

  it("ends its pauses when the client disconnects", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add({ body: { chunkBytes: 1, pauseMs: 60_000 } });
    const leave = new AbortController();
    const response = await emulator.fetch(arkUrl, { ...arkInit(), signal: leave.signal });
    const reading = readBody(response);
    setTimeout(() => leave.abort(), 20);
    expect((await reading).error).toMatchObject({ name: "AbortError" });
  });
});

describe("a connection", () => {
  it("is reset before the response", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add({ hangUp: true, times: 1 });
    await expect(emulator.fetch(arkUrl, arkInit())).rejects.toMatchObject({
      name: "TypeError",
      message: "fetch failed",
      cause: { code: "ECONNRESET" },
    });
    expect(emulator.requests).toHaveLength(1);
    expect((await askArk(emulator)).status).toBe(200);
  });
});
