import { expect, it } from "vitest";
import { readSse, type SseEvent } from "./sse.js";

const encoder = new TextEncoder();

function toBody(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}

async function collect(body: ReadableStream<Uint8Array>): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of readSse(body)) events.push(event);
  return events;
}

const TEXT =
  "\uFEFF: comment\nretry: 1000\n\nevent: a\ndata: 图 😀\n\nevent:b\ndata:{\ndata: }\n\ndata\n\nid: 7\nevent: lost\n\ndata: last: x\n\ndata: without an end";
const EVENTS = [
  { event: "a", data: "图 😀" },
  { event: "b", data: "{\n}" },
  { event: "", data: "" },
  { event: "", data: "last: x" },
];

it.each(["\n", "\r\n", "\r"])(
  "reads events however their bytes are cut, with the line end %j",
  async (lineEnd) => {
    const bytes = encoder.encode(TEXT.replaceAll("\n", lineEnd));
    for (let size = 1; size < 40; size++) {
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
      expect(await collect(toBody(chunks))).toEqual(EVENTS);
    }
  },
);

it("reads a line of 30 MB in chunks of 16 KiB within seconds", async () => {
  const chunk = encoder.encode("A".repeat(16_384));
  const chunks = [
    encoder.encode("data: "),
    ...Array.from({ length: 1_900 }, () => chunk),
    encoder.encode("\n\n"),
  ];
  const [event] = await collect(toBody(chunks));
  expect(event?.data).toHaveLength(16_384 * 1_900);
});

it("cancels the body when the reader leaves", async () => {
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode("data: 1\n\n")),
    cancel: () => {
      isCancelled = true;
    },
  });
  for await (const { data } of readSse(body)) if (data === "1") break;
  expect(isCancelled).toBe(true);
});

it("ends if nothing comes for too long, and not while comments come", async () => {
  let ticks = 0;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const timer = setInterval(() => {
        controller.enqueue(encoder.encode(++ticks === 4 ? "data: 1\n\n" : ": comment\n\n"));
        if (ticks === 4) clearInterval(timer);
      }, 50);
    },
  });
  const events: string[] = [];
  for await (const { data } of readSse(body, 150)) events.push(data);
  expect(events).toEqual(["1"]);
});
