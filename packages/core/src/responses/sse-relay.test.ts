import { setTimeout as pause } from "node:timers/promises";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { measureHeap } from "../testing/measure-heap.js";
import { createScriptedSource, endedSource, type ScriptedSource } from "../testing/scripted-source.js";
import type { AbandonedStream } from "./relay.js";
import { type RelayEnd, type RelayOptions, relaySse } from "./sse.js";

const EVENT = "event: greeting\ndata: hello\n\n";
const HALF = "event: greeting\ndata: hel";
const BROKEN = new Error("The provider hung up.");

/** A relay over a scripted source, with its events and its end. */
function relay(source: ScriptedSource, options: RelayOptions = {}) {
  const events: string[] = [];
  const ends: RelayEnd[] = [];
  const stream = relaySse(source.body, {
    onEvent: ({ data }) => void events.push(data),
    onEnd: (end) => void ends.push(end),
    ...options,
  });
  const next = async (): Promise<string | undefined> => {
    const { done, value } = await stream.next();
    return done === true ? undefined : new TextDecoder().decode(value);
  };
  return { stream, next, events, ends };
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const renderFailure = (error: unknown): string => `event: error\ndata: ${String(error)}\n\n`;

describe("a stream that is relayed", () => {
  it("has exactly the bytes of its source", async () => {
    const bytes = Uint8Array.from({ length: 5_000 }, (_, index) => (index * 89) % 256);
    const source = endedSource();
    source.send(bytes);
    const pieces = createScriptedSource();
    for (let start = 0; start < bytes.length; start += 77) pieces.send(bytes.subarray(start, start + 77));
    pieces.end();
    const chunks: Uint8Array[] = [];
    for await (const chunk of relaySse(pieces.body)) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(chunks).toHaveLength(Math.ceil(bytes.length / 77));
  });

  it("has all bytes of a chunk with ten thousand lines", async () => {
    const text = ":\n".repeat(10_000) + EVENT;
    expect(await readAll(relay(endedSource(text)).stream)).toBe(text);
  });

  it("lets other work have its turn after thousands of lines", async () => {
    const { next } = relay(endedSource(":\n".repeat(10_000)));
    let hadTurn = false;
    setImmediate(() => (hadTurn = true));
    await next();
    expect(hadTurn).toBe(true);
  });

  it("lets other work have its turn after thousands of lines in short chunks", async () => {
    const events = "data: a\n\n".repeat(100);
    const { next } = relay(endedSource(...Array.from({ length: 50 }, () => events)));
    let hadTurn = false;
    setImmediate(() => (hadTurn = true));
    for (let chunks = 0; chunks < 50; chunks++) await next();
    expect(hadTurn).toBe(true);
  });

  it("passes [DONE] and unknown events on", async () => {
    const text = `event: image_generation.partial_image\ndata: {}\n\ndata: [DONE]\n\n`;
    const { stream, events } = relay(endedSource(text));
    expect(await readAll(stream)).toBe(text);
    expect(events).toEqual(["{}", "[DONE]"]);
  });

  it("gives the first chunk before the source has the second", async () => {
    const source = createScriptedSource(EVENT);
    const { next, events, ends } = relay(source);
    expect(await next()).toBe(EVENT);
    expect(source.asked()).toBe(1);
    expect(events).toEqual(["hello"]);
    source.send(EVENT);
    expect(await next()).toBe(EVENT);
    source.end();
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "complete" }]);
  });

  it("requests a chunk only when the reader does", async () => {
    const source = createScriptedSource(EVENT, EVENT, EVENT);
    const { next } = relay(source);
    await pause(2);
    expect(source.asked()).toBe(0);
    await next();
    await pause(2);
    expect(source.asked()).toBe(1);
    await next();
    await pause(2);
    expect(source.asked()).toBe(2);
  });

  it("reports an event before its bytes are read", async () => {
    const order: string[] = [];
    const source = endedSource(EVENT);
    for await (const chunk of relaySse(source.body, { onEvent: () => void order.push("event") }))
      order.push(`chunk of ${chunk.length}`);
    expect(order).toEqual(["event", `chunk of ${EVENT.length}`]);
  });

  it("ends only after onEnd has resolved", async () => {
    const committed = Promise.withResolvers<void>();
    const { stream } = relay(endedSource(EVENT), { onEnd: () => committed.promise });
    const text = readAll(stream);
    const first = await Promise.race([text, pause(20, "waits")]);
    expect(first).toBe("waits");
    committed.resolve();
    expect(await text).toBe(EVENT);
  });

  it("gives two simultaneous reads one chunk each", async () => {
    const { next } = relay(endedSource("data: 1\n\n", "data: 2\n\n"));
    expect(await Promise.all([next(), next(), next(), next()])).toEqual([
      "data: 1\n\n",
      "data: 2\n\n",
      undefined,
      undefined,
    ]);
  });

  it("stays at its end", async () => {
    const { stream, next, ends } = relay(endedSource(EVENT));
    await readAll(stream);
    expect(await next()).toBeUndefined();
    expect(await stream.return?.()).toEqual({ done: true, value: undefined });
    expect(ends).toEqual([{ reason: "complete" }]);
  });
});

const LAST = "event: last\ndata: bye\n\n";

function relayLast(source: ScriptedSource, options: RelayOptions = {}) {
  let isLast = false;
  return relay(source, {
    onEvent: ({ event }) => {
      isLast ||= event === "last";
    },
    isLast: () => isLast,
    ...options,
  });
}

describe("the last event", () => {
  it("is held back until onEnd has resolved, with everything after it", async () => {
    const committed = Promise.withResolvers<void>();
    const source = endedSource(EVENT, LAST, "data: [DONE]\n\n");
    const { next } = relayLast(source, { onEnd: () => committed.promise });
    expect(await next()).toBe(EVENT);
    const last = next();
    expect(await Promise.race([last, pause(20, "waits")])).toBe("waits");
    committed.resolve();
    expect([await last, await next(), await next()]).toEqual([LAST, "data: [DONE]\n\n", undefined]);
  });

  it("is held back for only a second if the source does not end", async () => {
    vi.useFakeTimers();
    const source = createScriptedSource(LAST);
    const { next, ends } = relayLast(source);
    const last = next();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await last).toBe(LAST);
    source.send("data: more\n\n");
    expect(await next()).toBe("data: more\n\n");
    source.end();
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "complete" }]);
    vi.useRealTimers();
  });

  it("is held back for only a second if the source sends more bytes and does not end", async () => {
    vi.useFakeTimers();
    const source = createScriptedSource(LAST);
    const last = relayLast(source).next();
    for (let ms = 0; ms < 1_100; ms += 100) {
      source.send(": ping\n\n");
      await vi.advanceTimersByTimeAsync(100);
    }
    expect(await Promise.race([last, Promise.resolve("waits")])).toBe(LAST);
    vi.useRealTimers();
  });

  it("is held back until onEnd has resolved, however long that takes, if the source has ended", async () => {
    vi.useFakeTimers();
    const committed = Promise.withResolvers<void>();
    const last = relayLast(endedSource(LAST), { onEnd: () => committed.promise }).next();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.race([last, Promise.resolve("waits")])).toBe("waits");
    committed.resolve();
    expect(await last).toBe(LAST);
    vi.useRealTimers();
  });

  it("is sent before the failure of a source that breaks off after it", async () => {
    const source = createScriptedSource(LAST);
    const { next, ends } = relayLast(source);
    const last = next();
    await pause(2);
    source.fail(BROKEN);
    expect(await last).toBe(LAST);
    await expect(next()).rejects.toBe(BROKEN);
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "failed", error: BROKEN }]);
  });

  it("is not sent if the reader has left, and onEnd is called", async () => {
    const abandoned: AbandonedStream[] = [];
    const source = createScriptedSource(EVENT, LAST);
    const { stream, next, ends } = relayLast(source, { onAbandoned: (rest) => void abandoned.push(rest) });
    await next();
    const last = next();
    await pause(2);
    await stream.return?.();
    const read = abandoned[0]?.readToEnd();
    source.end();
    await read;
    expect(await last).toBeUndefined();
    expect(ends).toEqual([{ reason: "complete" }]);
  });
});

describe("a source that breaks off", () => {
  it.each([
    ["before its first byte", []],
    ["between events", [EVENT]],
    ["after a comment", [EVENT, ": waiting\n"]],
    ["after a CRLF whose LF was to come", ["data: hello\r\n\r"]],
  ])("%s ends with the event of renderFailure", async (_when, pieces) => {
    const source = createScriptedSource(...pieces);
    source.fail(BROKEN);
    const { stream, next, ends } = relay(source, { renderFailure });
    expect(await readAll(stream)).toBe(`${pieces.join("")}${renderFailure(BROKEN)}`);
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "failed", error: BROKEN }]);
  });

  it.each([
    ["in a line", HALF],
    ["after a line of an event", "event: greeting\n"],
    ["after the data", "data: x\n"],
    ["inside a character", new Uint8Array([0xe9])],
    ["in a comment", ": wait"],
    ["in a name, after an event", `${EVENT}ev`],
  ])("%s throws, so that no incomplete event is completed", async (_when, piece) => {
    const source = createScriptedSource();
    source.send(piece);
    source.fail(BROKEN);
    const { stream, next, ends } = relay(source, { renderFailure });
    await next();
    await expect(stream.next()).rejects.toBe(BROKEN);
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "failed", error: BROKEN }]);
  });

  it("throws between events too if there is no renderFailure", async () => {
    const source = createScriptedSource(EVENT);
    source.fail(BROKEN);
    const { stream, ends } = relay(source);
    await expect(readAll(stream)).rejects.toBe(BROKEN);
    expect(ends).toEqual([{ reason: "failed", error: BROKEN }]);
  });

  it("by ending inside an event is relayed unchanged", async () => {
    const { stream, events, ends } = relay(endedSource(HALF), { renderFailure });
    expect(await readAll(stream)).toBe(HALF);
    expect(events).toEqual([]);
    expect(ends).toEqual([{ reason: "complete" }]);
  });
});

describe("a reader that leaves", () => {
  it.each([
    ["before the first chunk", 0],
    ["in mid-stream", 1],
  ])("%s ends the source and calls onEnd once", async (_when, chunks) => {
    const source = createScriptedSource(EVENT, EVENT, EVENT);
    const cancel = vi.fn<() => void>();
    const { stream, next, ends } = relay(source, { cancel });
    for (let index = 0; index < chunks; index++) await next();
    await stream.return?.();
    await stream.return?.();
    expect(await next()).toBeUndefined();
    expect(ends).toEqual([{ reason: "abandoned" }]);
    expect(cancel).toHaveBeenCalledTimes(1);
    expect(source.asked()).toBe(chunks);
  });

  it("ends a source that has no cancel", async () => {
    const source = createScriptedSource(EVENT, EVENT);
    for await (const chunk of relaySse(source.body)) {
      expect(chunk).toHaveLength(EVENT.length);
      break;
    }
    await vi.waitFor(() => expect(source.isEnded()).toBe(true));
  });

  it("while a read is pending ends at once if the source can be cancelled", async () => {
    const source = createScriptedSource();
    const { stream, next, ends } = relay(source, { cancel: () => source.fail(BROKEN) });
    const pending = next();
    await pause(2);
    await stream.return?.();
    expect(ends).toEqual([{ reason: "abandoned" }]);
    expect(await pending).toBeUndefined();
  });

  it("does not wait for a pending read that never ends", async () => {
    const { stream, ends } = relay(createScriptedSource());
    void stream.next();
    await pause(2);
    await stream.return?.();
    expect(ends).toEqual([{ reason: "abandoned" }]);
  });

  it("passes its stream to onAbandoned, which may read it to its end", async () => {
    const source = createScriptedSource(EVENT);
    const abandoned: AbandonedStream[] = [];
    const { stream, next, events, ends } = relay(source, {
      onAbandoned: (rest) => void abandoned.push(rest),
    });
    await next();
    await stream.return?.();
    await stream.return?.();
    expect(abandoned).toHaveLength(1);
    expect(ends).toEqual([]);
    const read = abandoned[0]?.readToEnd();
    source.send("data: second\n\n");
    source.send("data: third\n\n");
    await pause(2);
    expect(ends).toEqual([]);
    source.end();
    await read;
    expect(events).toEqual(["hello", "second", "third"]);
    expect(ends).toEqual([{ reason: "complete" }]);
    expect(await next()).toBeUndefined();
  });

  it("while a read is pending loses no event for readToEnd", async () => {
    const source = createScriptedSource();
    const abandoned: AbandonedStream[] = [];
    const { stream, events, ends } = relay(source, { onAbandoned: (rest) => void abandoned.push(rest) });
    void stream.next();
    await pause(2);
    await stream.return?.();
    const read = abandoned[0]?.readToEnd();
    source.send("data: first\n\n");
    source.send("data: second\n\n");
    source.end();
    await read;
    expect(events).toEqual(["first", "second"]);
    expect(ends).toEqual([{ reason: "complete" }]);
  });

  it("has a failure in the rest reported to onEnd, and readToEnd does not throw", async () => {
    const source = createScriptedSource(EVENT);
    const abandoned: AbandonedStream[] = [];
    const { stream, ends } = relay(source, { onAbandoned: (rest) => void abandoned.push(rest) });
    await stream.return?.();
    source.fail(BROKEN);
    await abandoned[0]?.readToEnd();
    expect(ends).toEqual([{ reason: "failed", error: BROKEN }]);
  });

  it("may have its stream given up while it is read to its end", async () => {
    const source = createScriptedSource(EVENT);
    const abandoned: AbandonedStream[] = [];
    const { stream, events, ends } = relay(source, {
      onAbandoned: (rest) => void abandoned.push(rest),
      cancel: () => source.fail(BROKEN),
    });
    await stream.return?.();
    const read = abandoned[0]?.readToEnd();
    await pause(2);
    await abandoned[0]?.giveUp();
    await read;
    expect(events).toEqual(["hello"]);
    expect(ends).toEqual([{ reason: "abandoned" }]);
    await vi.waitFor(() => expect(source.isEnded()).toBe(true));
  });
});

describe("an option that throws", () => {
  it("stops no byte if it is onEvent, and onEnd gets the error", async () => {
    const onEvent = (): void => {
      throw BROKEN;
    };
    const { stream, ends } = relay(endedSource(EVENT, EVENT), { onEvent });
    expect(await readAll(stream)).toBe(EVENT + EVENT);
    expect(ends).toEqual([{ reason: "complete", readError: BROKEN }]);
  });

  it("fails the read, and not the process, if it is renderFailure", async () => {
    const source = createScriptedSource(EVENT);
    const fail = (): string => {
      throw BROKEN;
    };
    const { stream } = relay(source, { renderFailure: fail });
    source.fail(new Error("cut"));
    await expect(readAll(stream)).rejects.toBe(BROKEN);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    [
      "at once",
      () => {
        throw BROKEN;
      },
    ],
    ["later", () => Promise.reject(BROKEN)],
  ])("is called only once if it is onEnd and fails %s", async (_when, fail) => {
    const onEnd = vi.fn<(end: RelayEnd) => void | Promise<void>>(fail);
    const { stream } = relay(endedSource(EVENT), { onEnd });
    await expect(readAll(stream)).rejects.toBe(BROKEN);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(onEnd).toHaveBeenCalledTimes(1);
  });
});

describe("a heartbeat", () => {
  const BEAT = ": keep-alive\n\n";

  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it("is sent after each silence between events, and no byte is lost", async () => {
    const source = createScriptedSource(EVENT);
    const { next, events } = relay(source, { heartbeatMs: 1_000 });
    expect(await next()).toBe(EVENT);
    for (let beats = 0; beats < 3; beats++) {
      const beat = next();
      await vi.advanceTimersByTimeAsync(1_000);
      expect(await beat).toBe(BEAT);
    }
    expect(source.asked()).toBe(2);
    const chunk = next();
    await vi.advanceTimersByTimeAsync(999);
    source.send("data: late\n\n");
    expect(await chunk).toBe("data: late\n\n");
    expect(events).toEqual(["hello", "late"]);
  });

  it("is sent before the first event", async () => {
    const { next } = relay(createScriptedSource(), { heartbeatMs: 1_000 });
    const beat = next();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await beat).toBe(BEAT);
  });

  it.each(["data: hel", "data: hello\n", "data: hello\r\n", ": com"])(
    "never goes out after %j",
    async (piece) => {
      const source = createScriptedSource(piece);
      const { next } = relay(source, { heartbeatMs: 1_000 });
      await next();
      const chunk = next();
      await vi.advanceTimersByTimeAsync(60_000);
      source.send("\n\n");
      expect(await chunk).toBe("\n\n");
    },
  );

  it("works if the reader takes its memory away", async () => {
    const { stream } = relay(createScriptedSource(), { heartbeatMs: 1_000 });
    for (let beats = 0; beats < 2; beats++) {
      const beat = stream.next();
      await vi.advanceTimersByTimeAsync(1_000);
      const { value } = await beat;
      expect(new TextDecoder().decode(value)).toBe(BEAT);
      value?.fill(0);
    }
  });

  it("leaves no timer behind", async () => {
    const { stream } = relay(endedSource(EVENT, EVENT), { heartbeatMs: 1_000 });
    await readAll(stream);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("causes no unhandled rejection if the reader leaves after it", async () => {
    const source = createScriptedSource();
    const { stream, next, ends } = relay(source, { heartbeatMs: 1_000, cancel: () => source.fail(BROKEN) });
    const beat = next();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await beat).toBe(BEAT);
    await stream.return?.();
    await vi.advanceTimersByTimeAsync(1_000);
    // An unhandled rejection would end the run here.
    vi.useRealTimers();
    await pause(5);
    expect(ends).toEqual([{ reason: "abandoned" }]);
  });

  it("is followed by a failure that occurred while it was sent", async () => {
    const source = createScriptedSource(EVENT);
    const { next } = relay(source, { heartbeatMs: 1_000, renderFailure: () => "data: failed\n\n" });
    await next();
    const beat = next();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await beat).toBe(BEAT);
    source.fail(BROKEN);
    expect(await next()).toBe("data: failed\n\n");
    expect(await next()).toBeUndefined();
  });
});

/** Sends one piece, and then nothing. It holds no chunk itself; a generator might hold the last one. */
function createQuietSource(piece: string): AsyncIterable<Uint8Array> {
  let isGiven = false;
  const next = (): Promise<IteratorResult<Uint8Array>> => {
    if (isGiven) return new Promise(() => {});
    isGiven = true;
    return Promise.resolve({ done: false, value: new TextEncoder().encode(piece) });
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/** The bytes that each of many open streams holds after one piece was read. */
async function holdStreams(piece: string): Promise<{ bytesEach: number; timers: number }> {
  const count = 1_000;
  const setTimer = vi.spyOn(globalThis, "setTimeout");
  const before = measureHeap();
  const streams = Array.from({ length: count }, () => relaySse(createQuietSource(piece)));
  for (const stream of streams) expect((await stream.next()).value?.length).toBe(piece.length);
  const waiting = streams.map((stream) => stream.next());
  await pause(2);
  const bytesEach = (measureHeap() - before) / count;
  expect(waiting).toHaveLength(count);
  const timers = setTimer.mock.calls.length;
  setTimer.mockRestore();
  return { bytesEach, timers };
}

describe("many open streams", () => {
  it("have no timers and hold no chunk that was read", async () => {
    const { bytesEach, timers } = await holdStreams(`: ${"x".repeat(64 * 1024)}\n\n`);
    expect(timers).toBe(0);
    expect(bytesEach).toBeLessThan(4 * 1024);
  });

  it("hold only the beginning of an incomplete line, and not its chunk", async () => {
    const { bytesEach } = await holdStreams(`: ${"x".repeat(64 * 1024)}\n\ndata: begun`);
    expect(bytesEach).toBeLessThan(6 * 1024);
  });
});
