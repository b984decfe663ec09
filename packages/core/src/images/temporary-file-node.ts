import { readSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TemporaryFile } from "./spooled-file.js";

/** Creates a file in the system's temporary folder. It has no name, so a crash leaves nothing behind. */
export async function openTemporaryFile(): Promise<TemporaryFile> {
  const path = join(tmpdir(), `calotype-upload-${crypto.randomUUID()}`);
  // `x`: an existing file or link is never opened.
  const handle = await open(path, "wx+", 0o600);
  await unlink(path).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  return {
    write: (bytes, position) => writeAll(handle, bytes, position),
    async read(into, position) {
      let done = 0;
      while (done < into.length) {
        const { bytesRead } = await handle.read(into, done, into.length - done, position + done);
        done = advance(done, bytesRead);
      }
    },
    readSync(into, position) {
      let done = 0;
      while (done < into.length) {
        done = advance(done, readSync(handle.fd, into, done, into.length - done, position + done));
      }
    },
    // Closing a handle waits for reads in progress; closing a descriptor would not.
    close: () => handle.close(),
  };
}

/** A nearly full disk writes a part of the bytes and reports the error at the next write. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done = advance(done, bytesWritten);
  }
}

function advance(done: number, more: number): number {
  if (more === 0) throw new Error("A temporary file is shorter than what was written to it.");
  return done + more;
}
