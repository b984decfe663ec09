import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
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
