import { randomUUID } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ByteRange, ImageToStore, StoredImage } from "@calotype/core/stores";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createFileStore } from "./file-store.js";

const HOUR_MS = 3_600_000;

async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "calotype-files-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const createId = (): string => randomUUID().replaceAll("-", "");

function imageOf(
  chunks: readonly Uint8Array[] | AsyncIterable<Uint8Array>,
  more: Partial<ImageToStore> = {},
): ImageToStore {
  return {
    id: createId(),
    contentType: "image/png",
    body: Symbol.asyncIterator in chunks ? chunks : yieldAll(chunks),
    expiresAt: new Date(Date.now() + HOUR_MS),
    signal: new AbortController().signal,
    ...more,
  };
}

async function* yieldAll(chunks: readonly Uint8Array[], failure?: Error): AsyncGenerator<Uint8Array> {
  yield* chunks;
  if (failure !== undefined) throw failure;
}

async function* reuse(): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(1_000);
  for (let round = 1; round <= 50; round++) yield chunk.fill(round);
}

async function readAll(image: StoredImage | undefined): Promise<Buffer | undefined> {
  if (image === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of image.body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** All files below a folder, without folders, as paths relative to it. */
async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
}

/** The files of this process that are open below a folder (Linux). */
async function openFilesIn(directory: string): Promise<number> {
  const { readlink } = await import("node:fs/promises");
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
  );
  return links.filter((path) => path.startsWith(directory)).length;
}

describe("a stored image", () => {
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));

  it("has its bytes, its type and its length, also for another process", async () => {
    const directory = await createDirectory();
    const image = imageOf([bytes.subarray(0, 7), new Uint8Array(), bytes.subarray(7)], {
      contentType: "image/webp",
      byteLength: bytes.length,
    });
    await createFileStore({ directory }).put(image);

    const stored = await createFileStore({ directory }).open(image.id);
    expect(stored).toMatchObject({ contentType: "image/webp", byteLength: 200_000 });
    expect(await readAll(stored)).toEqual(bytes);
  });

  it.each<[ByteRange]>([
    [{ first: 0, last: 0 }],
    [{ first: 199_999, last: 199_999 }],
    [{ first: 65_535, last: 65_536 }],
    [{ first: 1, last: 199_998 }],
  ])("is read in part: %j", async (range) => {
    const store = createFileStore({ directory: await createDirectory() });
    const image = imageOf([bytes]);
    await store.put(image);
    const stored = await store.open(image.id, range);
    expect(stored?.byteLength).toBe(200_000);
    expect(await readAll(stored)).toEqual(bytes.subarray(range.first, range.last + 1));
  });

  it("may be empty", async () => {
    const store = createFileStore({ directory: await createDirectory() });
    const image = imageOf([], { byteLength: 0 });
    await store.put(image);
    expect(await readAll(await store.open(image.id))).toEqual(Buffer.alloc(0));
    expect(await readAll(await store.open(image.id, { first: 0, last: 0 }))).toEqual(Buffer.alloc(0));
  });

  it("may use the memory of a chunk again for the next one", async () => {
    const store = createFileStore({ directory: await createDirectory() });
    const image = imageOf(reuse());
    await store.put(image);
    const stored = await readAll(await store.open(image.id));
    expect([0, 999, 1_000, 49_999].map((at) => stored?.[at])).toEqual([1, 1, 2, 50]);
  });

  it("may have chunks of any size", async () => {
    const MIB = 1024 * 1024;
    const store = createFileStore({ directory: await createDirectory() });
    const whole = Buffer.from(Uint8Array.from({ length: 3 * MIB + 5 }, (_, index) => (index * 7) % 253));
    for (const size of [1_000, 65_536, MIB / 2, MIB / 2 + 1, 2 * MIB, whole.length]) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
        whole.subarray(at * size, (at + 1) * size),
      );
      const image = imageOf(chunks, { byteLength: whole.length });
      await store.put(image);
      expect((await readAll(await store.open(image.id)))?.equals(whole)).toBe(true);
    }
  });

  it.each([
    ["without characters", ""],
    ["of the folder above", ".."],
    ["of a file elsewhere", "../../secret"],
    ["with percent signs", "%2e%2e"],
    ["in capital letters", createId().toUpperCase()],
    ["with a NUL at its end", `${createId()}\0`],
    ["with 100,000 characters", "x".repeat(100_000)],
  ])("is not found under an id %s", async (_what, id) => {
    expect(await createFileStore({ directory: await createDirectory() }).open(id)).toBeUndefined();
  });

  it("is not found before it was stored, in a folder that does not exist, or when it has expired", async () => {
    const directory = join(await createDirectory(), "new");
    const store = createFileStore({ directory });
    expect(await store.open(createId())).toBeUndefined();
    await expect(readdir(directory)).rejects.toThrow("ENOENT");
    const expired = imageOf([bytes], { expiresAt: new Date(Date.now() - 1_000) });
    await store.put(expired);
    expect(await store.open(expired.id)).toBeUndefined();
  });

  it("is readable by the user of the process only", async () => {
    const directory = join(await createDirectory(), "results");
    const store = createFileStore({ directory });
    await store.put(imageOf([bytes]));
    await store.readSecrets();
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const modes = await Promise.all(
      entries.map(async (entry) => {
        const { mode } = await stat(join(entry.parentPath, entry.name));
        return `${entry.isFile() ? "file" : "folder"} ${(mode & 0o777).toString(8)}`;
      }),
    );
    expect(new Set(modes)).toEqual(new Set(["file 600", "folder 700"]));
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  it.runIf(process.platform === "linux")("keeps no file open when its reader leaves", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const image = imageOf([bytes]);
    await store.put(image);

    const unread = await store.open(image.id);
    const started = (await store.open(image.id))?.body[Symbol.asyncIterator]();
    const leaving = (await store.open(image.id))?.body[Symbol.asyncIterator]();
    await started?.next();
    expect(await openFilesIn(directory)).toBe(1);
    // The reader leaves while its first read is pending.
    const pending = leaving?.next();
    await leaving?.return?.();
    await pending?.catch(() => undefined);
    await started?.return?.();

    expect(await openFilesIn(directory)).toBe(0);
    expect(await started?.next()).toEqual({ done: true, value: undefined });
    expect(unread?.byteLength).toBe(200_000);
  });

  it("stays readable to the end while it is deleted", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const image = imageOf([bytes]);
    await store.put(image);
    const chunks = (await store.open(image.id))?.body[Symbol.asyncIterator]();
    const first = await chunks?.next();
    await store.sweep(new Date(Date.now() + 2 * HOUR_MS));
    expect(await store.open(image.id)).toBeUndefined();
    const rest =
      chunks &&
      (await readAll({ contentType: "", byteLength: 0, body: { [Symbol.asyncIterator]: () => chunks } }));
    expect(Buffer.concat([first?.value ?? new Uint8Array(), rest ?? new Uint8Array()])).toEqual(bytes);
  });
});

describe("an image that cannot be stored", () => {
  const chunk = new Uint8Array(100_000);

  it.each<[string, () => ImageToStore, string]>([
    ["whose source fails", () => imageOf(yieldAll([chunk], new Error("cut off"))), "cut off"],
    ["that is shorter than announced", () => imageOf([chunk], { byteLength: 100_001 }), "not 100001"],
    ["that is longer than announced", () => imageOf([chunk], { byteLength: 99_999 }), "not 99999"],
    ["whose id is a path", () => imageOf([chunk], { id: "../../etc/passwd" }), "32 hexadecimal digits"],
    [
      "that is no longer wanted",
      () => imageOf([chunk], { signal: AbortSignal.abort(new Error("late")) }),
      "late",
    ],
  ])("%s leaves nothing", async (_which, create, message) => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const image = create();
    await expect(store.put(image)).rejects.toThrow(message);
    expect(await filesIn(directory)).toEqual([]);
    expect(await store.open(image.id)).toBeUndefined();
  });

  it("is given up while its source sends nothing, and the source is told", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const controller = new AbortController();
    const stop = vi.fn<() => Promise<IteratorResult<Uint8Array>>>(async () => ({
      done: true,
      value: undefined,
    }));
    let reads = 0;
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => (reads++ === 0 ? Promise.resolve({ done: false, value: chunk }) : new Promise(() => {})),
        return: stop,
      }),
    };
    const stored = store.put(imageOf(body, { signal: controller.signal }));
    const failure = stored.catch((error: unknown) => String(error));
    await vi.waitFor(() => expect(reads).toBe(2));
    controller.abort(new Error("too late"));
    expect(await failure).toContain("too late");
    expect(stop).toHaveBeenCalledOnce();
    expect(await filesIn(directory)).toEqual([]);
  });

  it("because the directory is a file, is a failure", async () => {
    const directory = join(await createDirectory(), "file");
    await writeFile(directory, "x");
    const store = createFileStore({ directory });
    await expect(store.put(imageOf([chunk]))).rejects.toThrow("ENOTDIR");
    await expect(store.readSecrets()).rejects.toThrow("ENOTDIR");
    expect(await readFile(directory, "utf8")).toBe("x");
  });

  it("because its folder cannot be created, leaves no temporary file", async () => {
    const directory = await createDirectory();
    await writeFile(join(directory, "images"), "a file in place of the folder");
    await expect(createFileStore({ directory }).put(imageOf([chunk]))).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await filesIn(directory)).toEqual(["images"]);
  });

  it.each([[undefined], [""], [null]])("because the directory is %j, is an error at once", (directory) => {
    expect(() => createFileStore({ directory: directory as unknown as string })).toThrow(
      "createFileStore needs a directory; is the environment variable set?",
    );
  });
});

describe("the secret of a directory", () => {
  it("is random, and the same for all processes that start at the same time", async () => {
    const directory = join(await createDirectory(), "new");
    const stores = Array.from({ length: 30 }, () => createFileStore({ directory }));
    const secrets = await Promise.all(stores.map((store) => store.readSecrets()));
    expect(secrets[0]).toEqual([expect.stringMatching(/^[\da-f]{64}$/)]);
    expect(new Set(secrets.map(String)).size).toBe(1);
    expect(await filesIn(directory)).toEqual(["secret"]);

    const other = await createFileStore({ directory: await createDirectory() }).readSecrets();
    expect(other).not.toEqual(secrets[0]);
  });

  it("may be several, one in each line", async () => {
    const directory = await createDirectory();
    await writeFile(join(directory, "secret"), "new\r\n\nold\n");
    expect(await createFileStore({ directory }).readSecrets()).toEqual(["new", "old"]);
  });
});

describe("a sweep", () => {
  it("deletes the images that expired before its time, and no others", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const now = Date.now();
    const images = [-HOUR_MS, -2_000, 2_000, HOUR_MS].map((ms) =>
      imageOf([new Uint8Array(10)], { expiresAt: new Date(now + ms) }),
    );
    for (const image of images) await store.put(image);
    await store.readSecrets();

    await store.sweep(new Date(now));

    const left = (await filesIn(directory)).map((name) => name.split(".")[0]);
    expect(new Set(left)).toEqual(new Set(["secret", images[2]?.id, images[3]?.id]));
  });

  it("deletes temporary files that were not changed for a day", async () => {
    const directory = await createDirectory();
    await mkdir(join(directory, "tmp"));
    const ages = [0, 23, 25];
    for (const hours of ages) {
      const path = join(directory, "tmp", String(hours));
      await writeFile(path, "x");
      const changed = new Date(Date.now() - hours * HOUR_MS);
      await utimes(path, changed, changed);
    }
    await createFileStore({ directory }).sweep(new Date());
    expect((await filesIn(directory)).toSorted()).toEqual(["0", "23"]);
  });

  it("ignores files of other programs", async () => {
    const directory = await createDirectory();
    const folder = join(directory, "images", "ab", "cd");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "readme.txt"), "x");
    await writeFile(join(directory, "images", ".DS_Store"), "x");
    await createFileStore({ directory }).sweep(new Date(Date.now() + HOUR_MS));
    expect((await filesIn(directory)).toSorted()).toEqual([".DS_Store", "readme.txt"]);
  });

  it("does nothing in a directory that does not exist", async () => {
    const directory = join(await createDirectory(), "missing");
    await createFileStore({ directory }).sweep(new Date());
    await expect(stat(directory)).rejects.toThrow("ENOENT");
  });

  it("continues after a file that cannot be deleted, and then fails", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const expiresAt = new Date(Date.now() - HOUR_MS);
    const images = ["00", "88", "ff"].map((start) =>
      imageOf([], { id: start + createId().slice(2), expiresAt }),
    );
    for (const image of images) await store.put(image);
    // A folder with the name of an image cannot be deleted like a file.
    const blocked = join(
      directory,
      "images",
      "00",
      images[0]?.id.slice(2, 4) ?? "",
      `${"0".repeat(32)}.1.png`,
    );
    await mkdir(blocked);
    await expect(store.sweep(new Date())).rejects.toThrow("1 files could not be deleted");
    expect(await filesIn(directory)).toEqual([]);
    await chmod(blocked, 0o700);
  });

  it("may run in several processes at the same time", async () => {
    const directory = await createDirectory();
    const store = createFileStore({ directory });
    const stores = [store, ...Array.from({ length: 3 }, () => createFileStore({ directory }))];
    const expiresAt = new Date(Date.now() - HOUR_MS);
    await Promise.all(Array.from({ length: 50 }, () => store.put(imageOf([], { expiresAt }))));
    await Promise.all(stores.map((each) => each.sweep(new Date())));
    expect(await filesIn(directory)).toEqual([]);
  });
});
