import { Buffer } from "node:buffer";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createPoisonedBlocks, type PoisonedBlocks } from "../testing/poisoned-blocks.js";
import { casesOf } from "../testing/random.js";
import { startServer } from "../testing/start-server.js";
import { TransportError } from "../upstream/transport.js";
import { createTransport } from "../upstream/transport-node.js";
import { BLOCK_BYTES } from "./block-pool.js";
import { toJsonBody } from "./json-body.js";
import { type Chunks, lendChunks } from "./lend-chunks.js";
import { createUploadedImage } from "./reference-image.js";
import { createSpool, type RequestSpool, type Spool } from "./spool.js";
import type { SpooledFile } from "./spooled-file.js";
import { openTemporaryFile } from "./temporary-file-node.js";

const TIMEOUTS = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };

/** Pseudo-random bytes of a seed. */
function createBytes(length: number, seed: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  let state = (seed + 1) * 0x9e3779b1;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return Buffer.from(words.buffer, 0, length);
}

interface Opened {
  readonly pool: PoisonedBlocks;
  readonly spool: Spool;
}

function openSpool(memoryBytes: number): Opened {
  const pool = createPoisonedBlocks();
  return { pool, spool: createSpool({ memoryBytes, openFile: openTemporaryFile, pool }) };
}

const openRequest = (spool: Spool): RequestSpool => spool.open({ remove: () => undefined });

async function store(files: RequestSpool, bytes: Uint8Array): Promise<SpooledFile> {
  const writer = files.begin();
  for (let start = 0; start < bytes.length; start += 65_536) {
    await writer.write(bytes.subarray(start, start + 65_536));
  }
  return await writer.end();
}

describe("reused blocks", () => {
  it("are all returned when the request is over and they are not being read", async () => {
    const { pool, spool } = openSpool(4 * BLOCK_BYTES);
    const files = openRequest(spool);
    const file = await store(files, createBytes(6 * BLOCK_BYTES + 5, 1));
    let length = 0;
    for await (const chunk of lendChunks(file)) length += chunk.length;
    expect(length).toBe(file.byteLength);
    const writer = files.begin();
    await writer.write(createBytes(1_000, 2));
    expect(pool.out()).toBe(5);
    files.close();
    files.close();
    expect(pool.out()).toBe(0);
  });

  it("are not returned while they are written to the file, although the request is over", async () => {
    const pool = createPoisonedBlocks();
    const done = Promise.withResolvers<void>();
    let bytes: Uint8Array = new Uint8Array();
    const openFile = async () => ({
      ...(await openTemporaryFile()),
      write(given: Uint8Array) {
        bytes = given;
        return done.promise;
      },
    });
    const files = openRequest(createSpool({ memoryBytes: 0, openFile, pool }));
    const image = createBytes(BLOCK_BYTES, 1);
    const written = files.begin().write(image);
    await vi.waitFor(() => expect(bytes).toHaveLength(BLOCK_BYTES));
    files.close();
    expect([image.equals(bytes), pool.out()]).toEqual([true, 1]);
    done.resolve();
    await written;
    expect(pool.out()).toBe(0);
  });

  it("are not used again while a reader looks at them", async () => {
    const { pool, spool } = openSpool(Infinity);
    const files = openRequest(spool);
    const bytes = createBytes(2 * BLOCK_BYTES, 1);
    const reader = toIterator(lendChunks(await store(files, bytes)));
    const first = await reader.next();
    files.close();
    await store(openRequest(spool), createBytes(2 * BLOCK_BYTES, 2));
    expect(bytes.subarray(0, BLOCK_BYTES).equals(first.value)).toBe(true);
    await expect(reader.next()).rejects.toThrow("The request of this upload is over");
    // The garbage collector gets the two blocks that the reader had.
    expect(pool.out()).toBe(4);
  });

  it("do not change the chunks of readers that keep them", async () => {
    const { pool, spool } = openSpool(2 * BLOCK_BYTES);
    const files = openRequest(spool);
    const bytes = createBytes(3 * BLOCK_BYTES, 1);
    const file = await store(files, bytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file.chunks()) chunks.push(chunk);
    const chunksSync = [...file.chunksSync()];
    files.close();
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(Buffer.concat(chunksSync).equals(bytes)).toBe(true);
    expect(pool.out()).toBe(0);
  });

  it("no longer count after the request is over, although a reader still looks at them", async () => {
    let opened = 0;
    const openFile = (): ReturnType<typeof openTemporaryFile> => {
      opened++;
      return openTemporaryFile();
    };
    const spool = createSpool({ memoryBytes: 4 * BLOCK_BYTES, openFile, pool: createPoisonedBlocks() });
    for (let seed = 0; seed < 10; seed++) {
      const files = openRequest(spool);
      const file = await store(files, createBytes(3 * BLOCK_BYTES, seed));
      await toIterator(lendChunks(file)).next();
      files.close();
    }
    expect(opened).toBe(0);
  });

  it("hold the right bytes when requests arrive, read and end in any order", async () => {
    const step = record({
      request: integer({ min: 0, max: 3 }),
      action: constantFrom("write", "read", "readOn", "close"),
      length: integer({ min: 1, max: 700_000 }),
    });
    await assert(
      asyncProperty(
        array(step, { minLength: 10, maxLength: 40 }),
        integer({ min: 0, max: 2_000_000 }),
        async (steps, memoryBytes) => {
          const { spool } = openSpool(memoryBytes);
          const requests = new Map<number, ReturnType<typeof openCheckedRequest>>();
          let seed = 0;
          for (const { request, action, length } of steps) {
            const found = requests.get(request) ?? openCheckedRequest(spool);
            requests.set(request, found);
            if (action === "write") await found.write(createBytes(length, seed++));
            else if (action === "close") found.close();
            else await found[action]();
            if (action === "close") requests.delete(request);
          }
          for (const request of requests.values()) {
            await request.read();
            request.close();
          }
        },
      ),
      { numRuns: casesOf(50) },
    );
  });
});

/** A request and plain copies of its files. Reading fails if the two differ. */
function openCheckedRequest(spool: Spool) {
  const request = openRequest(spool);
  const files: { readonly file: SpooledFile; readonly plain: Buffer }[] = [];
  let begun: AsyncIterator<void> | undefined;
  return {
    async write(plain: Buffer) {
      files.push({ file: await store(request, plain), plain });
    },
    async read() {
      for (const { file, plain } of files) await drain(compare(file, plain));
    },
    /** Reads one more chunk of the last file. */
    async readOn() {
      const last = files.at(-1);
      if (last === undefined) return;
      begun ??= compare(last.file, last.plain);
      if ((await begun.next()).done === true) begun = undefined;
    },
    close: () => request.close(),
  };
}

/** Yields once per chunk that is as it should be. */
async function* compare(file: SpooledFile, plain: Buffer): AsyncGenerator<void, void> {
  let at = 0;
  for await (const chunk of lendChunks(file)) {
    if (!plain.subarray(at, at + chunk.length).equals(chunk)) throw new Error(`Other bytes stand at ${at}.`);
    at += chunk.length;
    yield;
  }
  if (at !== plain.length) throw new Error(`There are ${at} bytes of ${plain.length}.`);
}

function toIterator(chunks: Chunks): AsyncIterator<Uint8Array> {
  if (!(Symbol.asyncIterator in chunks)) throw new Error("Spooled files are read asynchronously.");
  return chunks[Symbol.asyncIterator]();
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

const isLeaving = (id: number): boolean => id % 5 === 4;

describe("uploads that are sent to providers", () => {
  it("reach a slow provider unchanged, although the memory of their base64 is used again", async () => {
    const { spool } = openSpool(Infinity);
    const files = openRequest(spool);
    // More than the socket buffers hold.
    const image = Buffer.alloc(18_000_000);
    for (let at = 0; at < image.length; at += 10_007) image.subarray(at, at + 10_007).fill(at >> 8);
    const upload = createUploadedImage("image/png", await store(files, image));
    let received: Promise<Buffer> | undefined;
    const server = await startServer((req, res) => {
      received = pause(150)
        .then(() => buffer(req))
        .finally(() => res.end());
    });
    const transport = createTransport();
    onTestFinished(async () => {
      await transport.close();
      await server.close();
    });
    const body = toJsonBody({ image: upload });
    const response = await transport.send({ url: server.url, headers: {}, body, timeouts: TIMEOUTS });
    response.cancel();
    expect((await received)?.equals(Buffer.from(JSON.stringify({ image: upload })))).toBe(true);
    files.close();
  });

  it("reach them unchanged while other requests fail, end early or are sent again", async () => {
    const { pool, spool } = openSpool(3_000_000);
    const images = Array.from({ length: 40 }, (_, id) =>
      createBytes(100_003 + ((id * 77_777) % 1_300_000), id),
    );
    const expected = images.map((image) =>
      Buffer.from(`{"image":["data:image/png;base64,${image.toString("base64")}"]}`),
    );
    const whole: number[] = [];
    const wrong: number[] = [];
    const server = await startServer((req, res) => {
      const [id = 0, manner] = (req.url ?? "").slice(1).split("/").map(Number);
      let at = 0;
      req.on("error", () => undefined);
      req.on("data", (chunk: Buffer) => {
        if (!expected[id]?.subarray(at, at + chunk.length).equals(chunk)) wrong.push(id);
        at += chunk.length;
        if (manner === 1) req.socket.resetAndDestroy();
        // A response before the body is complete.
        if (manner === 2 && !res.headersSent) res.writeHead(503).end();
        if (manner !== 3) return;
        req.pause();
        setTimeout(() => req.resume(), 2);
      });
      req.on("end", () => {
        if (at === expected[id]?.length) whole.push(id);
        if (!res.headersSent) res.end("ok");
      });
    });
    const transport = createTransport();
    onTestFinished(async () => {
      await transport.abort?.();
      await server.close();
    });
    const unexpected: unknown[] = [];
    const send = async (path: string, body: ReturnType<typeof toJsonBody>): Promise<void> => {
      try {
        const url = `${server.url}/${path}`;
        await drain((await transport.send({ url, headers: {}, body, timeouts: TIMEOUTS })).body);
      } catch (error) {
        if (!(error instanceof TransportError)) unexpected.push(error);
      }
    };
    const run = async (id: number): Promise<void> => {
      const files = openRequest(spool);
      const image = createUploadedImage("image/png", await store(files, images[id] ?? Buffer.alloc(0)));
      const body = toJsonBody({ image: [image] });
      if (isLeaving(id)) {
        // The request ends in the middle of its body.
        const sent = send(`${id}/3`, body);
        await pause(id % 7);
        files.close();
        return await sent;
      }
      // Cut, with an early response, read slowly, read at once; one after another.
      for (const manner of [1, 2, 3, 0].slice(id % 4)) await send(`${id}/${manner}`, body);
      files.close();
    };
    await Promise.all(images.map((_, id) => run(id)));
    expect(unexpected).toEqual([]);
    expect(wrong).toEqual([]);
    expect(images.map((_, id) => id).filter((id) => !isLeaving(id) && !whole.includes(id))).toEqual([]);
    expect(pool.out()).toBeLessThan(60);
  });
});
