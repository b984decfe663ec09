import { once } from "node:events";
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { takeWhole } from "./chunk-queue.js";
import { toChunks } from "./readable-chunks.js";

const CHUNK = 64 * 1024;

/** A stream that makes so many chunks, one for each time it is asked. */
function createSource(count: number): Readable & { made: number } {
  const source = Object.assign(
    new Readable({
      highWaterMark: CHUNK,
      read() {
        if (source.made === count) this.push(null);
        else this.push(Buffer.alloc(CHUNK, source.made++));
      },
    }),
    { made: 0 },
  );
  return source;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

describe("the chunks of a stream", () => {
  it("are its bytes in order", async () => {
    const bytes = await collect(toChunks(createSource(40)));
    const made = Array.from({ length: 40 }, (_, index) => Buffer.alloc(CHUNK, index));
    // Not by vitest, which takes seconds for it on Bun.
    expect(bytes.equals(Buffer.concat(made))).toBe(true);
  });

  it("are none where it is empty or has ended", async () => {
    const source = createSource(0);
    expect(await collect(toChunks(source))).toHaveLength(0);
    expect(await collect(toChunks(source))).toHaveLength(0);
  });

  it("come also where the stream was paused before", async () => {
    const source = createSource(3);
    source.pause();
    expect(await collect(toChunks(source))).toHaveLength(3 * CHUNK);
  });

  it("are each one's own where several ask at once", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const asked = [chunks.next(), chunks.next(), chunks.next(), chunks.next()];
    for (const text of ["a", "b", "c"]) source.push(Buffer.from(text));
    source.push(null);
    const answers = await Promise.all(asked);
    expect(answers.map(({ value }) => value && Buffer.from(value).toString())).toEqual([
      "a",
      "b",
      "c",
      undefined,
    ]);
  });

  it("fail for the first that waits, and have ended for the others", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const asked = [chunks.next(), chunks.next()];
    source.destroy(new Error("cut"));
    const [first, second] = await Promise.allSettled(asked);
    expect(first).toMatchObject({ status: "rejected", reason: new Error("cut") });
    expect(second).toMatchObject({ status: "fulfilled", value: { done: true } });
  });

  it("wait in the stream while nobody takes them", async () => {
    const source = createSource(1_000);
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    await chunks.next();
    for (let turns = 0; turns < 50; turns++) await turn();
    expect(source.made).toBeLessThan(10);
    let taken = 1;
    while ((await chunks.next()).done !== true) taken++;
    expect(taken).toBe(1_000);
  });

  it("come before the error that ends them", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const first = chunks.next();
    source.push(Buffer.from("a"));
    source.push(Buffer.from("b"));
    await first;
    source.destroy(new Error("cut"));
    await turn();
    expect(await chunks.next()).toEqual({ done: false, value: Buffer.from("b") });
    await expect(chunks.next()).rejects.toThrow("cut");
  });

  it("end with an error where the stream is closed before its end, also before the first was asked for", async () => {
    const source = new Readable({ read() {} });
    source.destroy();
    await turn();
    await expect(collect(toChunks(source))).rejects.toThrow("closed before its end");
    const other = new Readable({ read() {} });
    const waiting = collect(toChunks(other));
    other.destroy();
    await expect(waiting).rejects.toThrow("closed before its end");
  });

  it("fail with the error that the reader makes of the stream's", async () => {
    const source = new Readable({ read() {} });
    const waiting = collect(toChunks(source, { toError: (cause) => new Error("broken", { cause }) }));
    source.destroy(new Error("cut"));
    await expect(waiting).rejects.toMatchObject({ message: "broken", cause: { message: "cut" } });
  });
});

/** A stream in which these pieces have come. */
function createWaiting(...pieces: readonly string[]): Readable {
  const source = new Readable({ read() {} });
  for (const piece of pieces) source.push(Buffer.from(piece));
  return source;
}

function join(chunks: readonly Uint8Array[] | undefined): string | undefined {
  return chunks && Buffer.concat(chunks).toString();
}

describe("all chunks at once", () => {
  const text = "a fox in the snow";
  it.each([[[text]], [["a fox ", "in the snow"]], [[]]])(
    "are there where %j has come, and the stream goes on to its end",
    async (pieces) => {
      const source = createWaiting(...pieces);
      const body = pieces.join("");
      const chunks = toChunks(source, { length: body.length });
      const ended = once(source, "end");
      expect(join(takeWhole(chunks, 100))).toBe(body);
      expect(["data", "close"].map((event) => source.listenerCount(event))).toEqual([0, 0]);
      source.push(null);
      await ended;
      expect(await collect(chunks)).toHaveLength(0);
    },
  );

  it.each<[string, readonly string[], number | undefined, number]>([
    ["nothing has come", [], text.length, 100],
    ["some are missing", ["a fox "], text.length, 100],
    ["there are more", [text, "!"], text.length, 100],
    ["nobody knows how many", [text], undefined, 100],
    ["the number is none", [text], Number.NaN, 100],
    ["they are too many", [text], text.length, text.length - 1],
  ])("are not there where %s, and can then be read one by one", async (_why, pieces, length, maxBytes) => {
    const source = createWaiting(...pieces);
    const chunks = toChunks(source, { length });
    expect(takeWhole(chunks, maxBytes)).toBeUndefined();
    source.push(null);
    expect(join([await collect(chunks)])).toBe(pieces.join(""));
  });

  it("are what is left once one was read, where the end has come", async () => {
    const source = createWaiting("a", "b", "c");
    const chunks = toChunks(source, { length: 3 });
    const reader = chunks[Symbol.asyncIterator]();
    source.push(null);
    expect(await reader.next()).toEqual({ done: false, value: Buffer.from("a") });
    await turn();
    expect(join(takeWhole(chunks, 1))).toBeUndefined();
    expect(join(takeWhole(chunks, 2))).toBe("bc");
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it("are not there where the stream failed: the failure is for who reads", async () => {
    const source = createWaiting("a", "b");
    const chunks = toChunks(source);
    await chunks[Symbol.asyncIterator]().next();
    source.destroy(new Error("cut"));
    await turn();
    expect(takeWhole(chunks, 100)).toBeUndefined();
    await expect(collect(chunks)).rejects.toThrow("cut");
  });

  it("of another source are not known", () => {
    expect(takeWhole(Readable.from([Buffer.from("a")]), 100)).toBeUndefined();
    expect(takeWhole(undefined, 100)).toBeUndefined();
  });
});

describe("a reader that leaves", () => {
  it("leaves the stream open, paused and without listeners", async () => {
    const source = createSource(1_000);
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.return?.();
    expect(source.destroyed).toBe(false);
    expect(source.isPaused()).toBe(true);
    expect(["data", "end", "error", "close"].map((event) => source.listenerCount(event))).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it("is told of once, and not after the end", async () => {
    let left = 0;
    const chunks = toChunks(createSource(1_000), { onLeave: () => left++ })[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.return?.();
    await chunks.return?.();
    expect(left).toBe(1);
    await collect(toChunks(createSource(3), { onLeave: () => left++ }));
    expect(left).toBe(1);
  });

  it("is told of no failure that came while nobody waited", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const first = chunks.next();
    source.push(Buffer.from("a"));
    await first;
    source.destroy(new Error("cut"));
    await turn();
    await chunks.return?.();
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it("ends a wait that is under way", async () => {
    const chunks = toChunks(new Readable({ read() {} }))[Symbol.asyncIterator]();
    const waiting = chunks.next();
    await chunks.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});
