import { Buffer } from "node:buffer";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { array, assert, asyncProperty, constantFrom, integer, record } from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createPoisonedBlocks, type PoisonedBlocks } from "../testing/poisoned-blocks.js";
import { startServer } from "../testing/start-server.js";
import { TransportError } from "../upstream/transport.js";
import { createTransport } from "../upstream/transport-node.js";
import { BLOCK_BYTES } from "./block-pool.js";
import { toJsonBody } from "./json-body.js";
import { createUploadedImage } from "./reference-image.js";
import { createSpool, type Shelf, type Spool } from "./spool.js";
import type { KeptFile } from "./spooled-file.js";
import { openTemporaryFile } from "./temporary-file-node.js";

const TIMEOUTS = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000 };

/** Bytes that no other seed has in the same place, or hardly any. */
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

const openShelf = (spool: Spool): Shelf => spool.open({ remove: () => undefined });

async function keep(shelf: Shelf, bytes: Uint8Array): Promise<KeptFile> {
  const writer = shelf.begin();
  for (let start = 0; start < bytes.length; start += 65_536) {
    await writer.write(bytes.subarray(start, start + 65_536));
  }
  return await writer.end();
}

describe("memory of uploads that is used again", () => {
  it("is given back with the shelf, all of it, where nobody looks at it", async () => {
    const { pool, spool } = openSpool(4 * BLOCK_BYTES);
    const shelf = openShelf(spool);
    const file = await keep(shelf, createBytes(6 * BLOCK_BYTES + 5, 1));
    let length = 0;
    for await (const chunk of file.chunks({ reuse: true })) length += chunk.length;
    expect(length).toBe(file.byteLength);
    const writer = shelf.begin();
    await writer.write(createBytes(1_000, 2));
    expect(pool.out()).toBe(5);
    shelf.close();
    shelf.close();
    expect(pool.out()).toBe(0);
  });

  it("stays with the file that is written from it, though the shelf is closed", async () => {
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
    const shelf = openShelf(createSpool({ memoryBytes: 0, openFile, pool }));
    const image = createBytes(BLOCK_BYTES, 1);
    const written = shelf.begin().write(image);
    await vi.waitFor(() => expect(bytes).toHaveLength(BLOCK_BYTES));
    shelf.close();
    expect([image.equals(bytes), pool.out()]).toEqual([true, 1]);
    done.resolve();
    await written;
    expect(pool.out()).toBe(0);
  });

  it("stays with a reader who is in the middle of it, and is as it was", async () => {
    const { pool, spool } = openSpool(Infinity);
    const shelf = openShelf(spool);
    const bytes = createBytes(2 * BLOCK_BYTES, 1);
    const chunks = (await keep(shelf, bytes)).chunks({ reuse: true });
    if (!(Symbol.iterator in chunks)) throw new Error("All of it is in memory.");
    const reader = chunks[Symbol.iterator]();
    const first = reader.next();
    shelf.close();
    await keep(openShelf(spool), createBytes(2 * BLOCK_BYTES, 2));
    expect(bytes.subarray(0, BLOCK_BYTES).equals(first.value)).toBe(true);
    expect(() => reader.next()).toThrow("The request of this upload is over");
    // Nobody gets what the reader had: the two are left to the collector.
    expect(pool.out()).toBe(4);
  });

  it("is never used again where somebody was given it for good", async () => {
    const { pool, spool } = openSpool(Infinity);
    const shelf = openShelf(spool);
    const bytes = createBytes(3 * BLOCK_BYTES, 1);
    const chunks = [...(await keep(shelf, bytes)).chunksSync()];
    shelf.close();
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(pool.out()).toBe(3);
  });

  it("counts no more once its shelf is closed, whoever looks at it", async () => {
    const { spool } = openSpool(4 * BLOCK_BYTES);
    for (let seed = 0; seed < 10; seed++) {
      const shelf = openShelf(spool);
      const bytes = createBytes(3 * BLOCK_BYTES, seed);
      const file = await keep(shelf, bytes);
      // Sync, as nothing of it is in a file.
      const chunks = file.chunks();
      expect(Symbol.iterator in chunks).toBe(true);
      shelf.close();
    }
  });

  it("is kept as any other memory would be, by requests that come, read and end in any order", async () => {
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
          const requests = new Map<number, ReturnType<typeof openRequest>>();
          let seed = 0;
          for (const { request, action, length } of steps) {
            const found = requests.get(request) ?? openRequest(spool);
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
      { numRuns: 25, seed: 3 },
    );
  });
});

/** A request beside the plain version of what it keeps; reading fails where the two are not the same. */
function openRequest(spool: Spool) {
  const shelf = openShelf(spool);
  const files: { readonly kept: KeptFile; readonly plain: Buffer }[] = [];
  let begun: AsyncIterator<void> | undefined;
  return {
    async write(plain: Buffer) {
      files.push({ kept: await keep(shelf, plain), plain });
    },
    async read() {
      for (const { kept, plain } of files) await drain(compare(kept, plain));
    },
    /** One chunk more of the last file; what it had before may be used again. */
    async readOn() {
      const last = files.at(-1);
      if (last === undefined) return;
      begun ??= compare(last.kept, last.plain);
      if ((await begun.next()).done === true) begun = undefined;
    },
    close: () => shelf.close(),
  };
}

/** Gives nothing for each chunk that is as it should be. */
async function* compare(kept: KeptFile, plain: Buffer): AsyncGenerator<void, void> {
  let at = 0;
  for await (const chunk of kept.chunks({ reuse: true })) {
    if (!plain.subarray(at, at + chunk.length).equals(chunk)) throw new Error(`Other bytes stand at ${at}.`);
    at += chunk.length;
    yield;
  }
  if (at !== plain.length) throw new Error(`There are ${at} bytes of ${plain.length}.`);
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  const iterator = chunks[Symbol.asyncIterator]();
  while ((await iterator.next()).done !== true);
}

const isLeaving = (id: number): boolean => id % 5 === 4;

describe("uploads on their way to providers", () => {
  it("reach one that is slow byte by byte, though the memory of their letters is used again", async () => {
    const { spool } = openSpool(Infinity);
    const shelf = openShelf(spool);
    // More than the system holds for a socket.
    const image = Buffer.alloc(18_000_000);
    for (let at = 0; at < image.length; at += 10_007) image.subarray(at, at + 10_007).fill(at >> 8);
    const upload = createUploadedImage("image/png", await keep(shelf, image));
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
    shelf.close();
  });

  it("reach them byte by byte, whatever becomes of other requests", async () => {
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
        // An answer before it has taken all.
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
      const shelf = openShelf(spool);
      const image = createUploadedImage("image/png", await keep(shelf, images[id] ?? Buffer.alloc(0)));
      const body = toJsonBody({ image: [image] });
      if (isLeaving(id)) {
        // The request ends in the middle of its body.
        const sent = send(`${id}/3`, body);
        await pause(id % 7);
        shelf.close();
        return await sent;
      }
      // Cut, answered early, taken slowly, taken at once; each is sent again after the one before.
      for (const manner of [1, 2, 3, 0].slice(id % 4)) await send(`${id}/${manner}`, body);
      shelf.close();
    };
    await Promise.all(images.map((_, id) => run(id)));
    expect(unexpected).toEqual([]);
    expect(wrong).toEqual([]);
    expect(images.map((_, id) => id).filter((id) => !isLeaving(id) && !whole.includes(id))).toEqual([]);
    expect(pool.out()).toBeLessThan(60);
  }, 20_000);
});
