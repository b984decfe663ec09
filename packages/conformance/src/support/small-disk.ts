import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Service } from "./service.ts";

/** The right to mount a file system. Its address is that of the command. */
export const MOUNT: Service = {
  name: "the right to mount a file system",
  variable: "MOUNT",
  url: "mount",
  probe: async () => mountSmallDisk(1).remove(),
};

/** A file system in memory that can be full. */
export interface SmallDisk {
  readonly folder: string;
  /** Writes a file that takes all the space that is left. */
  readonly fill: () => void;
  /** Removes the file. */
  readonly free: () => void;
  readonly remove: () => void;
}

/** @throws Error if this process may not mount a file system */
export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "calotype-disk-"));
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  const filler = join(folder, "filler");
  return {
    folder,
    fill: () => fillWith(filler),
    free: () => rmSync(filler),
    remove: () => {
      run("umount", folder);
      rmSync(folder, { recursive: true });
    },
  };
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: "pipe" });
}

const BLOCK = Buffer.alloc(4_096);

function fillWith(path: string): void {
  const file = openSync(path, "w");
  try {
    for (;;) writeSync(file, BLOCK);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
  } finally {
    closeSync(file);
  }
}
