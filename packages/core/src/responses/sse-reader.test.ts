import { readFileSync } from "node:fs";
import { array, assert, asyncProperty, integer } from "fast-check";
import { describe, expect, it } from "vitest";
import { measureHeap } from "../testing/measure-heap.js";
import { createSseReader, relaySse, type SseEvent } from "./sse.js";

const MIB = 1024 * 1024;
const encoder = new TextEncoder();

interface ContractCase {
  readonly name: string;
  readonly sends_b64: readonly string[];
  readonly expected: readonly { readonly event: string; readonly data: string; readonly id?: string }[];
}

const CASES: readonly ContractCase[] = JSON.parse(
  readFileSync(
    new URL("../../../conformance/fixtures/sse/launchdarkly-contract.json", import.meta.url),
    "utf8",
  ),
);

const bytesOf = ({ sends_b64 }: ContractCase): readonly Uint8Array[] =>
  sends_b64.map((text) => new Uint8Array(Buffer.from(text, "base64")));

function join(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(chunks));
}

/** Reads events in the format of the cases: type `message` by default, and no empty id. */
function readEvents(chunks: readonly Uint8Array[]): readonly SseEvent[] {
  const events: SseEvent[] = [];
  const reader = createSseReader((event) => events.push(event));
  for (const chunk of chunks) reader.push(chunk);
  return events.map(toContractEvent);
}

function toContractEvent({ event = "message", data, id }: SseEvent): SseEvent {
  return { event, data, ...(id !== undefined && id !== "" && { id }) };
}

/** Splits bytes at the given positions, in any order. */
function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}

const bytewise = (bytes: Uint8Array): readonly Uint8Array[] => [...bytes].map((byte) => Uint8Array.of(byte));

async function* inChunks(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

describe.each(CASES)("the contract case $name", (sample) => {
  const { expected } = sample;
  const chunks = bytesOf(sample);
  const whole = join(chunks);

  it.each([
    ["as sent", chunks],
    ["whole", [whole]],
    ["byte by byte", bytewise(whole)],
  ])("gives its events %s", (_how, pieces) => {
    expect(readEvents(pieces)).toEqual(expected);
  });

  it("gives its events split at any bytes, and the same bytes", async () => {
    await assert(
      asyncProperty(array(integer({ min: 0, max: whole.length }), { maxLength: 12 }), async (places) => {
        const pieces = cutAt(whole, places);
        const events: SseEvent[] = [];
        const relayed: Uint8Array[] = [];
        const onEvent = (event: SseEvent): unknown => events.push(toContractEvent(event));
        for await (const chunk of relaySse(inChunks(pieces), { onEvent })) relayed.push(chunk);
        expect(events).toEqual(expected);
        expect(join(relayed)).toEqual(whole);
      }),
      { numRuns: 10 },
    );
  });
});

describe("the contract", () => {
  it("is complete", () => {
    expect(CASES).toHaveLength(86);
  });
});

// Streams of any lines, split at any bytes, are compared with `eventsource-parser` by `sse` of packages/harden.
describe("createSseReader", () => {
  it.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])("gives an event with its last byte if lines end in %s", (_name, end) => {
    const seen: string[] = [];
    const reader = createSseReader(({ data }) => seen.push(data));
    const push = (text: string): void => reader.push(encoder.encode(text));
    push(`data: one${end}`);
    expect(seen).toEqual([]);
    // The CR of a CRLF ends the line already.
    push(end.slice(0, 1));
    expect(seen).toEqual(["one"]);
    push(`${end.slice(1)}data: two${end}${end}data: th`);
    expect(seen).toEqual(["one", "two"]);
  });

  it("keeps no reference to the memory of a chunk", () => {
    const seen: string[] = [];
    const reader = createSseReader(({ data }) => seen.push(data));
    for (const text of ["data: he", "llo", " world", "\n", "\n"]) {
      const chunk = encoder.encode(text);
      reader.push(chunk);
      chunk.fill(0x21);
    }
    expect(seen).toEqual(["hello world"]);
  });

  it("accepts an empty chunk inside a CRLF", () => {
    expect(readEvents(["data: a\r", "", "\n\r", "", "\n"].map((text) => encoder.encode(text)))).toEqual([
      { event: "message", data: "a" },
    ]);
  });

  it("reports whether an event has begun and not ended", () => {
    const reader = createSseReader(() => {});
    const after = (text: string): boolean => {
      reader.push(encoder.encode(text));
      return reader.isInsideEvent;
    };
    expect(reader.isInsideEvent).toBe(false);
    expect(after("d")).toBe(true);
    expect(after("ata: x")).toBe(true);
    expect(after("\n")).toBe(true);
    expect(after("\r")).toBe(false);
    expect(after("\n")).toBe(false);
    expect(after(": a comment")).toBe(true);
    expect(after("\n")).toBe(false);
    expect(after("event: late\r")).toBe(true);
    expect(after("\n\n")).toBe(false);
  });
});

/** An event of Ark whose image has this number of bytes of base64. */
function imageEvent(bytes: number, base64 = "iVBORw0KGgo"): string {
  const image = base64.repeat(Math.ceil(bytes / base64.length)).slice(0, bytes);
  const data = `{"type":"image_generation.partial_succeeded","image_index":3,"b64_json":"${image}","size":"2048x1536"}`;
  return `event: image_generation.partial_succeeded\ndata: ${data}\n\n`;
}

const SHORT = "event: image_generation.completed\ndata: {}\n\n";

function inPieces(text: string, size: number): readonly Uint8Array[] {
  const bytes = encoder.encode(text);
  const pieces = Math.ceil(bytes.length / size);
  return Array.from({ length: pieces }, (_, index) => bytes.slice(index * size, (index + 1) * size));
}

describe("a line of 30 MB", () => {
  it.each([
    ["in chunks of 64 KiB", 64 * 1024],
    ["in chunks of 1,400 bytes", 1_400],
    ["in one chunk", 64 * MIB],
  ])("%s is read except for its image, in little time", (_how, size) => {
    const pieces = inPieces(imageEvent(30 * MIB) + SHORT, size);
    const events: SseEvent[] = [];
    const reader = createSseReader((event) => events.push(event));
    // CPU time, because other tests run at the same time.
    const before = process.cpuUsage();
    for (const piece of pieces) reader.push(piece);
    const { user, system } = process.cpuUsage(before);
    expect(events.map(({ event }) => event)).toEqual([
      "image_generation.partial_succeeded",
      "image_generation.completed",
    ]);
    expect(JSON.parse(events[0]?.data ?? "")).toMatchObject({
      type: "image_generation.partial_succeeded",
      image_index: 3,
      size: "2048x1536",
    });
    expect(events[0]?.data.length).toBeLessThan(64 * 1024);
    expect((user + system) / 1_000).toBeLessThan(2_000);
  });

  it("takes little memory", () => {
    const piece = encoder.encode("A".repeat(64 * 1024));
    const reader = createSseReader(() => {});
    reader.push(encoder.encode('data: {"b64_json":"'));
    const before = process.memoryUsage();
    for (let index = 0; index < 30 * 16; index++) reader.push(piece);
    const after = process.memoryUsage();
    const held = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
    expect(reader.isInsideEvent).toBe(true);
    expect(held).toBeLessThan(20 * MIB);
  });

  it.each(["AB\\/C", "\\/\\/", "\\u002f", "雪é😀"])("of %j is read wherever it is shortened", (unit) => {
    for (let shift = 0; shift < 12; shift++) {
      const text = imageEvent(10_000 * unit.length, unit).replace("{", `{"pad":"${"x".repeat(shift)}",`);
      const events: SseEvent[] = [];
      createSseReader((event) => events.push(event)).push(encoder.encode(text));
      expect(events[0]?.data.length).toBeLessThan(17_000);
      expect(JSON.parse(events[0]?.data ?? "")).toMatchObject({ size: "2048x1536" });
    }
  });
});

describe("a line above 16 KiB", () => {
  const usage = { generated_images: 4, output_tokens: 65_536, total_tokens: 65_536 };
  const around = "n".repeat(30_000);

  it.each([
    ["in the middle", { type: "image_generation.completed", before: around, usage, after: around }],
    ["behind a nested image", { data: [{ b64_json: around, size: "1x1" }, { b64_json: around }], usage }],
    [
      "behind escapes and other languages",
      { before: '\\"雪\n'.repeat(9_000), usage, after: "\\".repeat(9_000) },
    ],
    ["among many short strings", { list: Array.from({ length: 2_000 }, () => "0123456789"), usage }],
  ])("gives the usage %s, split at any bytes", (_where, data) => {
    const text = `event: image_generation.completed\ndata: ${JSON.stringify(data)}\n\n`;
    for (const size of [1, 7, 4_096, 16_384, MIB]) {
      const [event] = readEvents(inPieces(text, size));
      expect(JSON.parse(event?.data ?? "")).toMatchObject({ usage });
      expect(event?.data.length).toBeLessThan(66_000);
    }
  });

  it("gives the usage if the JSON has several lines", () => {
    const json = JSON.stringify({ before: around, usage, after: around }, null, 2);
    const text = `${json.replaceAll(/^/gm, "data: ")}\n\n`;
    for (const size of [1, 1_000, MIB]) {
      expect(JSON.parse(readEvents(inPieces(text, size))[0]?.data ?? "")).toMatchObject({ usage });
    }
  });
});

describe("an event that is too large", () => {
  const huge = "A".repeat(700);

  it.each([
    ["of many small lines", `data: ${huge}\n`.repeat(2_000)],
    [
      "of one line that is no JSON, among small ones",
      `data: ${huge}\n`.repeat(2_000) + `data: ${"x".repeat(MIB)}\n`,
    ],
    ["of CRLF lines", `data: ${huge}\r\n`.repeat(2_000)],
  ])("%s is relayed and skipped; the events after it are read", async (_what, lines) => {
    const text = `${SHORT}id: 7\nevent: huge\n${lines}\n${SHORT}event: x\ndata: 1\ndata: 2\n\n`;
    const events: SseEvent[] = [];
    const relayed: Uint8Array[] = [];
    const onEvent = (event: SseEvent): unknown => events.push(event);
    const pieces = inPieces(text, 4_096);
    for await (const chunk of relaySse(inChunks(pieces), { onEvent })) relayed.push(chunk);
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ["image_generation.completed", "{}"],
      ["image_generation.completed", "{}"],
      ["x", "1\n2"],
    ]);
    expect(join(relayed)).toEqual(join(pieces));
  });

  it("takes bounded memory", () => {
    const reader = createSseReader(() => {});
    const piece = encoder.encode(`data: ${huge}\n`.repeat(90));
    for (let index = 0; index < 50; index++) reader.push(piece);
    const before = measureHeap();
    for (let index = 0; index < 1_000; index++) reader.push(piece);
    expect(measureHeap() - before).toBeLessThan(10 * MIB);
    expect(reader.isInsideEvent).toBe(true);
  });
});

describe("a line above the limit that is not JSON", () => {
  it("is shortened, and the next event is read", () => {
    const [first, second] = readEvents([encoder.encode(`data: ${"a".repeat(80_000)}\n\n${SHORT}`)]);
    expect(first?.data).toMatch(/^a{65530}$/);
    expect(second?.event).toBe("image_generation.completed");
  });

  it("is complete if it has at most 16 KiB, split at any bytes", () => {
    const numbers = Array.from({ length: 4_000 }, (_, index) => index % 1_000).join("-");
    for (const length of [8_190, 8_192, 8_193, 12_000, 16_370]) {
      const data = numbers.slice(0, length);
      for (const size of [1, 7, 1_000, 8_192, 20_000]) {
        expect(readEvents(inPieces(`data: ${data}\n\n`, size))).toEqual([{ event: "message", data }]);
      }
    }
  });
});
