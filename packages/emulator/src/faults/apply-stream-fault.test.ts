import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askDashscope } from "../test-support/ask.js";
import { readUnder } from "../test-support/read-body.js";
import { readEvents } from "../test-support/read-events.js";
import type { Fault, StreamFault } from "./fault.js";

const fields = { stream: true, sequential_image_generation: "auto", prompt: "2 images" };
const options = { seed: 5, now: () => 1_763_683_200_000, images: "tiny" } as const;

/** Two images, `completed` and `[DONE]` are four events. */
async function streamUnder(stream: StreamFault, more: Fault = {}) {
  const { text, error } = await readUnder(createEmulator(options), { stream, ...more }, fields);
  return {
    text,
    error,
    names: readEvents(text).map(({ event, data }) => event?.replace("image_generation.", "") ?? data),
  };
}

const healthy = await streamUnder({});
const bounds = [...healthy.text.matchAll(/\n\n/g)].map(({ index }) => index + 2);

describe("the events of a stream", () => {
  it.each([0, 1, 2, 3, 4])("are cut off after %i events", async (cutAfterEvents) => {
    const { text, error } = await streamUnder({ cutAfterEvents });
    expect(text).toBe(healthy.text.slice(0, cutAfterEvents === 0 ? 0 : bounds[cutAfterEvents - 1]));
    expect(error).toMatchObject({ message: "terminated", cause: { code: "ECONNRESET" } });
  });

  it.each([0.001, 0.5, 1.5, 3.5])("are cut off inside an event, at %d", async (cutAfterEvents) => {
    const { text, error } = await streamUnder({ cutAfterEvents });
    const whole = Math.floor(cutAfterEvents);
    const start = whole === 0 ? 0 : (bounds[whole - 1] ?? 0);
    expect(text.length).toBeGreaterThan(start);
    expect(text.length).toBeLessThan(bounds[whole] ?? 0);
    expect(healthy.text.startsWith(text)).toBe(true);
    expect(error).toMatchObject({ message: "terminated" });
  });

  it("arrive whole when there are fewer than the cut asks for", async () => {
    expect(await streamUnder({ cutAfterEvents: 5 })).toEqual(healthy);
  });

  it.each([
    [0, ["partial_succeeded", "partial_succeeded", "[DONE]"]],
    [2, ["partial_succeeded", "partial_succeeded", "completed", "completed", "[DONE]"]],
  ])("hold %i completed", async (completedEvents, names) => {
    expect((await streamUnder({ completedEvents })).names).toEqual(names);
  });

  it("end without completed and [DONE]", async () => {
    const { names, error } = await streamUnder({ completedEvents: 0 }, { omitDone: true });
    expect(names).toEqual(["partial_succeeded", "partial_succeeded"]);
    expect(error).toBeUndefined();
  });

  it.each([
    ["crlf", "\r\n"],
    ["cr", "\r"],
  ] as const)("end their lines in %s", async (lineEnd, characters) => {
    const { text } = await streamUnder({ lineEnd, comments: true });
    expect(text.replaceAll(characters, "\n")).toBe((await streamUnder({ comments: true })).text);
    expect(text.replaceAll(characters, "")).not.toMatch(/[\r\n]/);
  });

  it("have comments between them, which count as no events", async () => {
    const { text } = await streamUnder({ comments: true, cutAfterEvents: 2 });
    expect(text.match(/^: keep-alive\n\n/gm)).toHaveLength(2);
    expect(text.replaceAll(": keep-alive\n\n", "")).toBe(healthy.text.slice(0, bounds[1]));
  });

  it("are kept alive by comments while an image is drawn", async () => {
    const emulator = createEmulator({ ...options, millisecondsPerImage: 130 });
    const { text, chunks, times } = await readUnder(emulator, { stream: { keepAliveMs: 20 } }, fields);
    expect(text.replaceAll(": keep-alive\n\n", "")).toBe(healthy.text);
    expect(chunks.filter((chunk) => chunk.startsWith(":")).length).toBeGreaterThan(5);
    expect(times[0]).toBeLessThan(80);
  });

  it("are bytes like others: late, split and cut", async () => {
    const body = { chunkBytes: 1, cutAfterBytes: 100 };
    const { text } = await streamUnder({ lineEnd: "crlf" }, { body });
    expect(text).toBe(healthy.text.replaceAll("\n", "\r\n").slice(0, 100));
  });
});

describe("the format of a response", () => {
  it("is JSON although a stream was requested", async () => {
    const { text } = await streamUnder({ lineEnd: "crlf", cutAfterEvents: 1 }, { respondAs: "json" });
    expect(JSON.parse(text)).toMatchObject({ data: [{}, {}], usage: { generated_images: 2 } });
  });

  it("is a stream although none was requested", async () => {
    const emulator = createEmulator(options);
    const { text } = await readUnder(emulator, { respondAs: "stream" });
    expect(text).toMatch(/^event: image_generation\.partial_succeeded\n/);
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it("is a stream of one event on DashScope", async () => {
    const emulator = createEmulator(options);
    emulator.faults.add({ respondAs: "stream", stream: { lineEnd: "crlf" } });
    const { headers, text } = await askDashscope(emulator);
    expect(headers.get("content-type")).toContain("text/event-stream");
    const lines = text.split("\r\n");
    expect(lines.slice(0, 3)).toEqual(["id:1", "event:result", ":HTTP_STATUS/200"]);
    expect(JSON.parse(lines[3]?.slice("data:".length) ?? "")).toMatchObject({
      usage: { output_image_count: 1 },
    });
  });
});
