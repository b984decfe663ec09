import { createHmac } from "node:crypto";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStore, type FileStore } from "@calotype/node";
import { onTestFinished } from "vitest";

/** The option `results.secrets` of the tests. */
export const LINK_SECRET = "a secret of at least 32 characters, for tests";

/** Creates a folder that is deleted when the test ends. */
export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-results-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Stores an image and returns its id. */
export async function storeImage(
  store: FileStore,
  bytes: Uint8Array,
  contentType = "image/png",
): Promise<string> {
  const id = crypto.randomUUID().replaceAll("-", "");
  const body = ReadableStream.from([bytes]);
  const signal = new AbortController().signal;
  await store.put({ id, contentType, body, signal, expiresAt: new Date(Date.now() + 3_600_000) });
  return id;
}

/** Opens a store in a folder, with one image. */
export async function storeOne(
  bytes: Uint8Array,
  contentType?: string,
): Promise<{ folder: string; store: FileStore; id: string }> {
  const folder = await createFolder();
  const store = createFileStore({ directory: folder });
  return { folder, store, id: await storeImage(store, bytes, contentType) };
}

/** The path of a link to an image, signed independently of the gateway. */
export function pathTo(id: string, expires = Math.floor(Date.now() / 1000) + 3_600): string {
  const signature = createHmac("sha256", LINK_SECRET).update(`calotype-file\n${id}\n${expires}`);
  return `/v1/images/files/${id}?expires=${expires}&signature=${signature.digest("base64url")}`;
}

/** The number of files of this process that are open below a folder (Linux). */
export async function countOpenFiles(folder: string): Promise<number> {
  const names = await readdir("/proc/self/fd");
  // A file may be closed in the meantime.
  const paths = await Promise.all(names.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  return paths.filter((path) => path.startsWith(folder)).length;
}
