import { randomBytes, randomUUID } from "node:crypto";
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  type ByteRange,
  checkOptionNames,
  type ImageToStore,
  type ResultStore,
  type StoredImage,
} from "@calotype/core/stores";
import { FileBody } from "./file-body.js";
import { type FileFacts, findFolder, parseFileName, toFileName } from "./stored-file.js";

/** Where {@link createFileStore} keeps its files. */
export interface FileStoreOptions {
  /**
   * The folder, created at the first use. A relative path starts at the current working directory. Several processes may use
   * the same folder, also over a network if its file system has atomic renames and hard links.
   */
  readonly directory: string;
}

/** A store that keeps each image in a file. The gateway serves the images. */
export type FileStore = Required<Omit<ResultStore, "link" | "maxLinkSeconds">>;

/**
 * Keeps the images of results in files. The folder has three entries: `images`, `tmp` with files that are being written, and
 * `secret`, which signs the links to the images. Only the user of the process can read them (modes 0700 and 0600).
 *
 * An image appears under its name when all of it is on the disk. So a process that is killed leaves no incomplete image.
 *
 * @param options the folder
 * @throws TypeError if there is no directory, or for an unknown option
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { createFileStore } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   results: { store: createFileStore({ directory: "results" }) },
 * });
 * ```
 */
export function createFileStore(options: FileStoreOptions): FileStore {
  checkOptionNames("createFileStore", options, { directory: true });
  const { directory } = options;
  // The value is often that of an environment variable, which may be missing.
  if (typeof directory !== "string" || directory === "") {
    throw new TypeError("createFileStore needs a directory; is the environment variable set?");
  }
  const root = resolve(directory);
  const images = join(root, "images");
  const temporary = join(root, "tmp");
  return {
    put: (image) => putImage(image, images, temporary),
    open: (id, range) => openImage(images, id, range),
    remove: (id) => removeImage(images, id),
    sweep: (before) => sweepFiles(images, temporary, before),
    readSecrets: () => readSecrets(join(root, "secret"), temporary),
  };
}

const PRIVATE_FOLDER = { recursive: true, mode: 0o700 };

async function putImage(image: ImageToStore, images: string, temporary: string): Promise<void> {
  const target = join(findFolder(images, image.id), toFileName(image));
  const path = join(temporary, randomUUID());
  await writeNewFile(path, (file) => writeBody(file, image));
  try {
    image.signal.throwIfAborted();
    await withFolder(target, () => rename(path, target));
  } catch (error) {
    await remove(path);
    throw error;
  }
}

async function writeBody(
  file: FileHandle,
  { body, byteLength, signal }: Pick<ImageToStore, "body" | "byteLength" | "signal">,
): Promise<void> {
  const chunks = body[Symbol.asyncIterator]();
  let stop: ((reason: unknown) => void) | undefined;
  const onAbort = (): void => stop?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  // Not `Promise.race` with one promise for the signal: that promise would retain every chunk.
  const readNext = (): Promise<IteratorResult<Uint8Array>> =>
    new Promise((take, fail) => {
      stop = fail;
      chunks.next().then(take, fail);
    });
  const writer = new JoiningWriter(file);
  let written = 0;
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await readNext();
      if (done === true) break;
      await writer.write(value);
      written += value.length;
    }
    await writer.flush();
  } catch (error) {
    // Not awaited: the source may never continue. Its own failure is the one that is thrown, or does not matter any more.
    void chunks.return?.().catch(() => undefined);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  if (byteLength !== undefined && written !== byteLength) {
    throw new Error(`The image has ${written} bytes and not ${byteLength} as announced.`);
  }
}

const JOINED_BYTES = 512 * 1024;

/**
 * Joins chunks, which are copied because their source may use their memory again. The simple version writes each chunk; then
 * an image of 30 MB takes three times the CPU time.
 */
class JoiningWriter {
  readonly #file: FileHandle;
  #joined: Buffer | undefined;
  #length = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async write(chunk: Uint8Array): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) {
      this.#joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES);
      const part = rest.subarray(0, JOINED_BYTES - this.#length);
      this.#joined.set(part, this.#length);
      this.#length += part.length;
      rest = rest.subarray(part.length);
      if (this.#length === JOINED_BYTES) await this.flush();
    }
  }

  async flush(): Promise<void> {
    const bytes = this.#joined?.subarray(0, this.#length);
    this.#length = 0;
    if (bytes !== undefined) await this.#file.writeFile(bytes);
  }
}

/** Writes a file and waits until it is on the disk. If that fails, there is no file. */
async function writeNewFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await withFolder(path, () => open(path, "wx", 0o600));
  try {
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    await remove(path);
    throw error;
  }
}

/** Repeats the work once with a new folder if the folder of the path is missing. */
async function withFolder<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    await mkdir(dirname(path), PRIVATE_FOLDER);
    return work();
  }
}

/** Deletes a temporary file after a failure. If that fails too, a later sweep deletes it. */
async function remove(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/** The id becomes a part of a path. */
const IMAGE_ID = /^[\da-f]{32}$/;

async function openImage(images: string, id: string, range?: ByteRange): Promise<StoredImage | undefined> {
  if (!IMAGE_ID.test(id)) return undefined;
  const folder = findFolder(images, id);
  const file = (await listFiles(folder)).find(({ facts }) => facts.id === id);
  if (file === undefined || file.facts.expiresAt.getTime() <= Date.now()) return undefined;
  const byteLength = await readSize(file.path);
  if (byteLength === undefined) return undefined;
  const { contentType } = file.facts;
  const last = Math.min(range?.last ?? Infinity, byteLength - 1);
  return { contentType, byteLength, body: new FileBody(file.path, { first: range?.first ?? 0, last }) };
}

async function removeImage(images: string, id: string): Promise<void> {
  if (!IMAGE_ID.test(id)) return;
  for (const { path, facts } of await listFiles(findFolder(images, id))) {
    if (facts.id === id) await rm(path, { force: true });
  }
}

/** Returns `undefined` if the file was deleted in the meantime. */
async function readSize(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

interface ImageFile {
  readonly path: string;
  readonly facts: FileFacts;
}

/** The images in a folder. Files of other programs are left out. */
async function listFiles(folder: string): Promise<readonly ImageFile[]> {
  return (await list(folder)).flatMap((name) => {
    const facts = parseFileName(name);
    return facts === undefined ? [] : [{ path: join(folder, name), facts }];
  });
}

/** A temporary file that was not changed for this time was left by a process that ended. No upload may take longer. */
const STALE_MS = 86_400_000;

/**
 * Deletes images that expired before a time, and old temporary files. Continues after a failure. Other processes may delete
 * the same files at the same time. Folders stay, so that none is deleted while a file is moved into it.
 *
 * @throws AggregateError if files could not be deleted
 */
async function sweepFiles(images: string, temporary: string, before: Date): Promise<void> {
  const failures: unknown[] = [];
  const attempt = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((error: unknown) => failures.push(error));
  for (const outer of await listFolders(images)) {
    for (const inner of await listFolders(outer)) {
      for (const { path, facts } of await listFiles(inner)) {
        if (facts.expiresAt < before) await attempt(rm(path, { force: true }));
      }
    }
  }
  for (const name of await list(temporary)) {
    await attempt(removeIfStale(join(temporary, name)));
  }
  if (failures.length > 0) {
    throw new AggregateError(failures.slice(0, 10), `${failures.length} files could not be deleted.`);
  }
}

async function removeIfStale(path: string): Promise<void> {
  try {
    const { mtimeMs } = await stat(path);
    if (mtimeMs < Date.now() - STALE_MS) await rm(path, { force: true });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

async function listFolders(folder: string): Promise<readonly string[]> {
  return (await list(folder)).filter((name) => /^[\da-f]{2}$/.test(name)).map((name) => join(folder, name));
}

/** The names in a folder; none if there is no such folder. */
async function list(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

/**
 * Returns the lines of the file. If there is none, writes one with a random secret. The file appears complete and only once,
 * also if several processes start at the same time: a hard link fails if its name exists.
 */
async function readSecrets(path: string, temporary: string): Promise<readonly string[]> {
  const existing = await readLines(path);
  if (existing !== undefined) return existing;
  const own = join(temporary, randomUUID());
  await writeNewFile(own, (file) => file.writeFile(`${randomBytes(32).toString("hex")}\n`));
  try {
    await link(own, path);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await remove(own);
  }
  const created = await readLines(path);
  if (created === undefined) throw new Error(`${path} was deleted after it was created.`);
  return created;
}

async function readLines(path: string): Promise<readonly string[] | undefined> {
  try {
    const lines = (await readFile(path, "utf8")).split("\n").map((line) => line.trim());
    return lines.filter((line) => line !== "");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, "ENOENT");
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
