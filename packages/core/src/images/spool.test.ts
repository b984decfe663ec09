import { Buffer } from "node:buffer";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, assert, asyncProperty, integer } from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Chunks, lendChunks } from "./lend-chunks.js";
import { createSpool, type RequestSpool } from "./spool.js";
import type { SpooledFile, SpoolWriter, TemporaryFile } from "./spooled-file.js";
import { openTemporaryFile } from "./temporary-file-node.js";

const KIB = 1024;

/** Bytes without two equal kilobytes. */
const createBytes = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 10) * 7) & 255);

/** Writes all bytes in chunks of a size, and waits when the writer says so. */
async function writeAll(writer: SpoolWriter, bytes: Uint8Array, size = 64 * KIB): Promise<SpooledFile> {
  for (let start = 0; start < bytes.length; start += size) {
    const chunk = bytes.slice(start, start + size);
    await writer.write(chunk);
    // The writer must have copied the chunk.
    chunk.fill(0);
  }
  return await writer.end();
}

async function readAll(chunks: Chunks): Promise<Buffer> {
  const all = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}

async function readLent(file: SpooledFile): Promise<Buffer> {
  const all = [];
  for await (const chunk of lendChunks(file)) all.push(Buffer.from(chunk));
  return Buffer.concat(all);
}

interface OpenedSpool {
  readonly files: RequestSpool;
  /** The number of bytes that no longer count as in flight. */
  readonly removed: () => number;
}

function openRequestSpool(
  memoryBytes: number,
  openFile: () => Promise<TemporaryFile> = openTemporaryFile,
): OpenedSpool {
  let removed = 0;
  const spool = createSpool({ memoryBytes, openFile });
  const files = spool.open({ remove: (bytes) => void (removed += bytes) });
  return { files, removed: () => removed };
}

describe("spooled files", () => {
  it("hold what was written, in memory and in the temporary file, and can be read several times", async () => {
    await assert(
      asyncProperty(
        array(integer({ min: 0, max: 1_000_000 }), { maxLength: 3 }),
        integer({ min: 0, max: 1_500_000 }),
        integer({ min: 5_000, max: 400_000 }),
        async (lengths, memoryBytes, size) => {
          const { files } = openRequestSpool(memoryBytes);
          const written = lengths.map((length) => createBytes(length));
          const stored: SpooledFile[] = [];
          for (const bytes of written) stored.push(await writeAll(files.begin(), bytes, size));
          for (const [index, file] of stored.entries()) {
            const bytes = Buffer.from(written[index] ?? []);
            expect(file.byteLength).toBe(bytes.length);
            expect(Buffer.from(file.head).equals(bytes.subarray(0, 16))).toBe(true);
            const read = await Promise.all([readAll(file.chunks()), readLent(file), readAll(file.chunks())]);
            expect(read.map((other) => other.equals(bytes))).toEqual([true, true, true]);
            expect(Buffer.concat([...file.chunksSync()]).equals(bytes)).toBe(true);
          }
          files.close();
        },
      ),
      { numRuns: 30 },
    );
  });

  it("are in memory up to the limit of all requests, and in a temporary file beyond it", async () => {
    let opened = 0;
    let removed = 0;
    const openFile = (): Promise<TemporaryFile> => {
      opened++;
      return openTemporaryFile();
    };
    const spool = createSpool({ memoryBytes: 1024 * KIB, openFile });
    const open = (): RequestSpool => spool.open({ remove: (bytes) => void (removed += bytes) });
    const [first, second] = [open(), open()];
    await writeAll(first.begin(), createBytes(1000 * KIB));
    expect(opened).toBe(0);
    await writeAll(second.begin(), createBytes(600 * KIB));
    await writeAll(second.begin(), createBytes(600 * KIB));
    expect(opened).toBe(1);
    expect(removed).toBe(1200 * KIB);
    first.close();
    await writeAll(open().begin(), createBytes(1000 * KIB));
    expect(opened).toBe(1);
    second.close();
  });

  it("stay in memory on runtimes without temporary files", async () => {
    const spool = createSpool({ memoryBytes: 0, openFile: undefined });
    const file = await writeAll(spool.open({ remove: () => undefined }).begin(), createBytes(700 * KIB));
    expect((await readAll(file.chunks())).equals(createBytes(700 * KIB))).toBe(true);
  });

  it("do not mix the bytes of two writers that write in turn", async () => {
    const { files } = openRequestSpool(0);
    const [a, b] = [files.begin(), files.begin()];
    for (let index = 0; index < 40; index++) {
      await Promise.all([a.write(Buffer.alloc(20 * KIB, 1)), b.write(Buffer.alloc(30 * KIB, 2))]);
    }
    expect((await readAll((await a.end()).chunks())).equals(Buffer.alloc(800 * KIB, 1))).toBe(true);
    expect((await readAll((await b.end()).chunks())).equals(Buffer.alloc(1200 * KIB, 2))).toBe(true);
    files.close();
  });

  it("are complete if the end comes while a block is being written", async () => {
    const { files } = openRequestSpool(0);
    const bytes = createBytes(400 * KIB);
    const writer = files.begin();
    void writer.write(bytes.subarray(0, 200 * KIB));
    void writer.write(bytes.subarray(200 * KIB));
    const file = await writer.end();
    expect((await readAll(file.chunks())).equals(bytes)).toBe(true);
    files.close();
  });

  it("use no more memory than their bytes if the chunks are tiny", async () => {
    const { files } = openRequestSpool(Infinity);
    const writer = files.begin();
    for (let index = 0; index < 400_000; index++) await writer.write(Uint8Array.of(index & 255));
    let chunks = 0;
    for await (const chunk of (await writer.end()).chunks()) chunks += chunk.length > 0 ? 1 : 0;
    expect(chunks).toBe(2);
  });
});

describe("the temporary file", () => {
  it("has no name, so that a crash leaves no file behind", async () => {
    // A folder of its own, because tests in other processes create temporary files, too.
    const folder = mkdtempSync(join(tmpdir(), "calotype-spool-"));
    vi.stubEnv("TMPDIR", folder);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    });
    expect(tmpdir()).toBe(folder);

    const { files } = openRequestSpool(0);
    const file = await writeAll(files.begin(), createBytes(500 * KIB));
    expect(readdirSync(folder)).toEqual([]);
    expect((await readAll(file.chunks())).length).toBe(500 * KIB);
    files.close();
  });

  it("is closed with the request, after reads in progress; then nothing can be read or written", async () => {
    const closed = Promise.withResolvers<void>();
    const { files } = openRequestSpool(0, async () => {
      const file = await openTemporaryFile();
      return { ...file, close: () => file.close().finally(() => closed.resolve()) };
    });
    const late = files.begin();
    await late.write(createBytes(100 * KIB));
    const file = await writeAll(files.begin(), createBytes(500 * KIB));
    // The read gets its first block, or comes too late for the second.
    const reading = readAll(file.chunks()).then(
      () => "read",
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
    );
    files.close();
    await closed.promise;
    expect(() => file.chunks()).toThrow("The request of this upload is over");
    expect(() => file.chunksSync()).toThrow("The request of this upload is over");
    await expect(readLent(file)).rejects.toThrow("The request of this upload is over");
    await expect(late.write(createBytes(900 * KIB)) ?? Promise.resolve()).resolves.toBeUndefined();
    expect((await late.end()).byteLength).toBe(0);
    expect(["read", "EBADF"]).toContain(await reading);
  });

  it.each(["open", "write"])("responds with 503 with Retry-After if its %s fails", async (at) => {
    const cause = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    let closed = 0;
    const full: TemporaryFile = {
      write: () => Promise.reject(cause),
      read: () => Promise.reject(cause),
      readSync: () => undefined,
      close: () => Promise.resolve(void closed++),
    };
    const { files, removed } = openRequestSpool(0, () =>
      at === "open" ? Promise.reject(cause) : Promise.resolve(full),
    );
    await expect(writeAll(files.begin(), createBytes(500 * KIB))).rejects.toMatchObject({
      code: "overloaded",
      status: 503,
      retryAfterSeconds: 5,
      cause,
    });
    expect(removed()).toBe(0);
    files.close();
    await Promise.resolve();
    expect(closed).toBe(at === "open" ? 0 : 1);
  });
});
