import { Buffer } from "node:buffer";
import { readSync } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SpoolFile } from "./spool-file.js";

/** Makes a file in the system's folder for temporary files; it has no name, so that a crash leaves nothing. */
export async function openSpoolFile(): Promise<SpoolFile> {
  const path = join(tmpdir(), `calotype-upload-${crypto.randomUUID()}`);
  // `x`: a file or link that is there already is never opened.
  const handle = await open(path, "wx+", 0o600);
  await unlink(path).catch(async (error: unknown) => {
    await handle.close();
    throw error;
  });
  return {
    write: (chunks, position) => writeAll(handle, chunks, position),
    async read(position, length) {
      const bytes = Buffer.allocUnsafeSlow(length);
      let done = 0;
      while (done < length) {
        const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
        done = advance(done, bytesRead);
      }
      return bytes;
    },
    readSync(position, length) {
      const bytes = Buffer.allocUnsafeSlow(length);
      let done = 0;
      while (done < length) {
        done = advance(done, readSync(handle.fd, bytes, done, length - done, position + done));
      }
      return bytes;
    },
    // Of a handle, unlike of a descriptor, this waits for reads that are under way.
    close: () => handle.close(),
  };
}

async function writeAll(handle: FileHandle, chunks: readonly Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await handle.writev(chunks, position);
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytesWritten === length) return;
  // A disk that is nearly full takes a part first, and says why with the next.
  const bytes = Buffer.concat(chunks);
  let done = bytesWritten;
  while (done < length) {
    const { bytesWritten: more } = await handle.write(bytes, done, length - done, position + done);
    done = advance(done, more);
  }
}

function advance(done: number, more: number): number {
  if (more === 0) throw new Error("A temporary file holds less than was written to it.");
  return done + more;
}
