import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createFileStore } from "@calotype/node";
import { describe, expect, it } from "vitest";
import { createFolder } from "../support/stored-files.js";

const PROGRAM = fileURLToPath(new URL("put-images.ts", import.meta.url));
const IMAGE_BYTES = 300_000;
const KILLS = 6;

interface Putting {
  readonly child: ChildProcess;
  readonly output: Readable;
  /** What the process printed, when it has ended. */
  readonly lines: Promise<readonly string[]>;
}

/** Starts a process that stores images. */
function startPutting(folder: string, command: readonly string[] = []): Putting {
  const [first, ...rest] = [...command, process.execPath, PROGRAM, folder];
  const child = spawn(first, rest, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = text(child.stdout).then((printed) => printed.split("\n").filter((line) => line !== ""));
  return { child, output: child.stdout, lines };
}

/** The ids of all files that look like images. */
async function listIds(folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(folder, "images"), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name.split(".")[0] ?? "");
}

/** True if an image has all of its bytes. Each image consists of one repeated byte that is not 0. */
async function isComplete(folder: string, id: string): Promise<boolean> {
  const image = await createFileStore({ directory: folder }).open(id);
  const bytes = image && (await buffer(image.body));
  return bytes?.length === IMAGE_BYTES && bytes[0] !== 0 && bytes.every((byte) => byte === bytes[0]);
}

describe("processes that are killed while they store images in one folder", () => {
  it("leave complete images only, with each that was reported, and one secret", async () => {
    const folder = await createFolder();
    const reported: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const both = [startPutting(folder), startPutting(folder)];
      await Promise.all(both.map(({ output }) => once(output, "data")));
      await pause(20 + 40 * kill);
      for (const { child } of both) child.kill("SIGKILL");
      for (const { lines } of both)
        reported.push(...(await lines).filter((line) => /^[\da-f]{32}$/.test(line)));
    }

    const ids = await listIds(folder);
    expect(reported.length).toBeGreaterThan(10);
    expect(reported.filter((id) => !ids.includes(id))).toEqual([]);
    const states = await Promise.all(ids.map((id) => isComplete(folder, id)));
    expect(states.every(Boolean)).toBe(true);

    // The images that were being stored are left in the folder for temporary files, until a sweep a day later.
    const leftovers = await readdir(join(folder, "tmp"));
    expect(leftovers.length).toBeGreaterThan(0);
    const yesterday = new Date(Date.now() - 25 * 3_600_000);
    for (const name of leftovers) await utimes(join(folder, "tmp", name), yesterday, yesterday);
    const store = createFileStore({ directory: folder });
    await store.sweep(new Date());
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
    expect(await listIds(folder)).toHaveLength(ids.length);
    expect(await store.readSecrets()).toHaveLength(1);
  });
});

describe("a process that may not write large files", () => {
  it.runIf(process.platform === "linux")("fails to store an image, and leaves nothing of it", async () => {
    const folder = await createFolder();
    // 200 blocks of at most 1,024 bytes are less than one image.
    const { lines, child } = startPutting(folder, ["sh", "-c", 'ulimit -f 200; exec "$@" 2', "sh"]);
    await once(child, "close");
    const failed = Array.from({ length: 8 }, () => "failed EFBIG");
    expect(await lines).toEqual(["started", ...failed]);
    expect(await readdir(join(folder, "tmp"))).toEqual([]);
    expect(await readdir(folder)).toEqual(["secret", "tmp"]);
  });
});
