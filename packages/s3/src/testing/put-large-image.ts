/**
 * A process that stores an image of 64 MiB from a slow source. It prints how much more memory it needed than before, as
 * JSON: `{ "rss": …, "external": … }` in MiB. Arguments: the options of the store as JSON.
 */
import { setTimeout as wait } from "node:timers/promises";
import { createS3Store } from "@calotype/s3";

const MIB = 1024 * 1024;
const IMAGE_BYTES = 64 * MIB;

const store = createS3Store(JSON.parse(process.argv[2] ?? ""));
const peak = { rss: 0, external: 0 };

await put(100_000, 0); // loads the code, and makes the connection
globalThis.gc?.();
await wait(100);
const before = process.memoryUsage();
const timer = setInterval(sample, 2);
await put(IMAGE_BYTES, 1);
clearInterval(timer);
process.stdout.write(JSON.stringify(peak));

function sample(): void {
  const { rss, external } = process.memoryUsage();
  peak.rss = Math.max(peak.rss, (rss - before.rss) / MIB);
  peak.external = Math.max(peak.external, (external - before.external) / MIB);
}

async function put(byteLength: number, delayMs: number): Promise<void> {
  await store.put({
    id: String(byteLength),
    contentType: "image/png",
    body: produce(byteLength, delayMs),
    expiresAt: new Date(Date.now() + 3_600_000),
    signal: AbortSignal.timeout(60_000),
  });
}

async function* produce(byteLength: number, delayMs: number): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(65_536).fill(7);
  for (let sent = 0; sent < byteLength; sent += chunk.byteLength) {
    if (delayMs > 0) await wait(delayMs);
    yield chunk;
  }
}
