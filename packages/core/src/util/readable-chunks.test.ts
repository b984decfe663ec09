import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { toChunks } from "./readable-chunks.js";

const CHUNK = 64 * 1024;

/** A stream that makes this number of chunks, one for each read. */
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

  it("do not exist if it is empty or has ended", async () => {
    const source = createSource(0);
    expect(await collect(toChunks(source))).toHaveLength(0);
    expect(await collect(toChunks(source))).toHaveLength(0);
  });

  it("arrive also if the stream was paused before", async () => {
    const source = createSource(3);
    source.pause();
    expect(await collect(toChunks(source))).toHaveLength(3 * CHUNK);
  });

  it("go to one read each if several reads are pending", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const asked = [chunks.next(), chunks.next(), chunks.next(), chunks.next()];
    for (const text of ["a", "b", "c"]) source.push(Buffer.from(text));
    source.push(null);
    const results = await Promise.all(asked);
    expect(results.map(({ value }) => value && Buffer.from(value).toString())).toEqual([
      "a",
      "b",
      "c",
      undefined,
    ]);
  });

  it("fail for the first pending read, and have ended for the others", async () => {
    const source = new Readable({ read() {} });
    const chunks = toChunks(source)[Symbol.asyncIterator]();
    const asked = [chunks.next(), chunks.next()];
    source.destroy(new Error("cut"));
    const [first, second] = await Promise.allSettled(asked);
    expect(first).toMatchObject({ status: "rejected", reason: new Error("cut") });
    expect(second).toMatchObject({ status: "fulfilled", value: { done: true } });
  });

  it("stay in the stream until they are read", async () => {
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

  it("end with an error if the stream is closed before its end, even before the first read", async () => {
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

  it("gets no failure that came while no read was pending", async () => {
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

  it("ends a pending read", async () => {
    const chunks = toChunks(new Readable({ read() {} }))[Symbol.asyncIterator]();
    const waiting = chunks.next();
    await chunks.return?.();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });
});
