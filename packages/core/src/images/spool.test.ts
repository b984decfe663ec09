import { Buffer } from "node:buffer";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, assert, asyncProperty, integer } from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createSpool, type Shelf } from "./spool.js";
import type { KeptFile, KeptWriter, TemporaryFile } from "./spooled-file.js";
import { openTemporaryFile } from "./temporary-file-node.js";

const KIB = 1024;

/** Bytes of which no two kilobytes are alike. */
const createBytes = (length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 10) * 7) & 255);

/** Gives a writer all the bytes in chunks of a size, as a stream does that waits where it is told to. */
async function writeAll(writer: KeptWriter, bytes: Uint8Array, size = 64 * KIB): Promise<KeptFile> {
  for (let start = 0; start < bytes.length; start += size) {
    const chunk = bytes.slice(start, start + size);
    await writer.write(chunk);
    // Whatever it was given in is used again.
    chunk.fill(0);
  }
  return await writer.end();
}

async function readAll(file: KeptFile, reuse = false): Promise<Buffer> {
  const chunks = [];
  for await (const chunk of file.chunks({ reuse })) chunks.push(reuse ? Buffer.from(chunk) : chunk);
  return Buffer.concat(chunks);
}

interface OpenShelf {
  readonly shelf: Shelf;
  /** Bytes that are held no longer. */
  readonly removed: () => number;
}

function openShelf(
  memoryBytes: number,
  openFile: () => Promise<TemporaryFile> = openTemporaryFile,
): OpenShelf {
  let removed = 0;
  const spool = createSpool({ memoryBytes, openFile });
  const shelf = spool.open({ remove: (bytes) => void (removed += bytes) });
  return { shelf, removed: () => removed };
}

describe("what is kept of a form's files", () => {
  it("is what was written, wherever it is, however it came and however often it is read", async () => {
    await assert(
      asyncProperty(
        array(integer({ min: 0, max: 1_000_000 }), { maxLength: 3 }),
        integer({ min: 0, max: 1_500_000 }),
        integer({ min: 5_000, max: 400_000 }),
        async (lengths, memoryBytes, size) => {
          const { shelf } = openShelf(memoryBytes);
          const written = lengths.map((length) => createBytes(length));
          const files: KeptFile[] = [];
          for (const bytes of written) files.push(await writeAll(shelf.begin(), bytes, size));
          for (const [index, file] of files.entries()) {
            const bytes = Buffer.from(written[index] ?? []);
            expect(file.byteLength).toBe(bytes.length);
            expect(Buffer.from(file.head).equals(bytes.subarray(0, 16))).toBe(true);
            const read = await Promise.all([readAll(file), readAll(file, true), readAll(file)]);
            expect(read.map((other) => other.equals(bytes))).toEqual([true, true, true]);
            expect(Buffer.concat([...file.chunksSync()]).equals(bytes)).toBe(true);
          }
          shelf.close();
        },
      ),
      { numRuns: 30, seed: 5 },
    );
  });

  it("is in memory up to the budget of all requests, and in a file past it", async () => {
    let files = 0;
    let removed = 0;
    const openFile = (): Promise<TemporaryFile> => {
      files++;
      return openTemporaryFile();
    };
    const spool = createSpool({ memoryBytes: 1024 * KIB, openFile });
    const open = (): Shelf => spool.open({ remove: (bytes) => void (removed += bytes) });
    const [first, second] = [open(), open()];
    await writeAll(first.begin(), createBytes(1000 * KIB));
    expect(files).toBe(0);
    await writeAll(second.begin(), createBytes(600 * KIB));
    await writeAll(second.begin(), createBytes(600 * KIB));
    expect(files).toBe(1);
    expect(removed).toBe(1200 * KIB);
    first.close();
    await writeAll(open().begin(), createBytes(1000 * KIB));
    expect(files).toBe(1);
    second.close();
  });

  it("stays in memory where there are no files", async () => {
    const spool = createSpool({ memoryBytes: 0, openFile: undefined });
    const file = await writeAll(spool.open({ remove: () => undefined }).begin(), createBytes(700 * KIB));
    expect((await readAll(file)).equals(createBytes(700 * KIB))).toBe(true);
  });

  it("has the bytes of two writers apart that write by turns", async () => {
    const { shelf } = openShelf(0);
    const [a, b] = [shelf.begin(), shelf.begin()];
    for (let index = 0; index < 40; index++) {
      await Promise.all([a.write(Buffer.alloc(20 * KIB, 1)), b.write(Buffer.alloc(30 * KIB, 2))]);
    }
    expect((await readAll(await a.end())).equals(Buffer.alloc(800 * KIB, 1))).toBe(true);
    expect((await readAll(await b.end())).equals(Buffer.alloc(1200 * KIB, 2))).toBe(true);
    shelf.close();
  });

  it("is whole though its end is told while it is written", async () => {
    const { shelf } = openShelf(0);
    const bytes = createBytes(400 * KIB);
    const writer = shelf.begin();
    void writer.write(bytes.subarray(0, 200 * KIB));
    void writer.write(bytes.subarray(200 * KIB));
    const file = await writer.end();
    expect((await readAll(file)).equals(bytes)).toBe(true);
    shelf.close();
  });

  it("holds no more than its bytes, however small they come", async () => {
    const { shelf } = openShelf(Infinity);
    const writer = shelf.begin();
    for (let index = 0; index < 400_000; index++) await writer.write(Uint8Array.of(index & 255));
    let chunks = 0;
    for await (const chunk of (await writer.end()).chunks()) chunks += chunk.length > 0 ? 1 : 0;
    expect(chunks).toBe(2);
  });
});

describe("a file of ours", () => {
  it("has no name from the start, so that a crash leaves nothing", async () => {
    // Its own: other tests, in processes beside this one, keep files as well.
    const folder = mkdtempSync(join(tmpdir(), "calotype-spool-"));
    vi.stubEnv("TMPDIR", folder);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true });
    });
    expect(tmpdir()).toBe(folder);

    const { shelf } = openShelf(0);
    const file = await writeAll(shelf.begin(), createBytes(500 * KIB));
    expect(readdirSync(folder)).toEqual([]);
    expect((await readAll(file)).length).toBe(500 * KIB);
    shelf.close();
  });

  it("is closed with its shelf, after what is read of it at that moment; then nothing can be read or kept", async () => {
    const closed = Promise.withResolvers<void>();
    const { shelf } = openShelf(0, async () => {
      const file = await openTemporaryFile();
      return { ...file, close: () => file.close().finally(() => closed.resolve()) };
    });
    const late = shelf.begin();
    await late.write(createBytes(100 * KIB));
    const file = await writeAll(shelf.begin(), createBytes(500 * KIB));
    // It has its first block, or is too late for the second.
    const reading = readAll(file).then(
      () => "read",
      (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
    );
    shelf.close();
    await closed.promise;
    expect(() => file.chunks()).toThrow("The request of this upload is over");
    expect(() => file.chunksSync()).toThrow("The request of this upload is over");
    await expect(late.write(createBytes(900 * KIB)) ?? Promise.resolve()).resolves.toBeUndefined();
    expect((await late.end()).byteLength).toBe(0);
    expect(["read", "EBADF"]).toContain(await reading);
  });

  it.each(["open", "write"])(
    "that cannot be made, at its %s, is a 503 that says when to come again",
    async (at) => {
      const cause = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      let closed = 0;
      const full: TemporaryFile = {
        write: () => Promise.reject(cause),
        read: () => Promise.reject(cause),
        readSync: () => undefined,
        close: () => Promise.resolve(void closed++),
      };
      const { shelf, removed } = openShelf(0, () =>
        at === "open" ? Promise.reject(cause) : Promise.resolve(full),
      );
      await expect(writeAll(shelf.begin(), createBytes(500 * KIB))).rejects.toMatchObject({
        code: "overloaded",
        status: 503,
        retryAfterSeconds: 5,
        cause,
      });
      expect(removed()).toBe(0);
      shelf.close();
      await Promise.resolve();
      expect(closed).toBe(at === "open" ? 0 : 1);
    },
  );
});
