import { readSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TemporaryFile } from "./spooled-file.js";

/** Makes a file in the system's folder for temporary files; it has no name, so that a crash leaves nothing. */
export async function openTemporaryFile(): Promise<TemporaryFile> {
  const path = join(tmpdir(), `calotype-upload-${crypto.randomUUID()}`);
  // `x`: a file or link that is there already is never opened.
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
    // Of a handle, unlike of a descriptor, this waits for reads that are under way.
    close: () => handle.close(),
  };
}

/** A disk that is nearly full takes a part first, and says why with the next. */
async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done = advance(done, bytesWritten);
  }
}

function advance(done: number, more: number): number {
  if (more === 0) throw new Error("A temporary file holds less than was written to it.");
  return done + more;
}
