// Stores images in the folder of its first argument until it is killed, several at the same time. Prints the id of each
// stored image, and the code of each failure.
import { setTimeout as pause } from "node:timers/promises";
import { createFileStore } from "@calotype/node";

/** The number of bytes of each image. */
const IMAGE_BYTES = 300_000;

const PUTS_AT_ONCE = 4;
const [, , directory = "", count = "Infinity"] = process.argv;
const store = createFileStore({ directory });
const print = (line: string): void => void process.stdout.write(`${line}\n`);
print("started");

async function* yieldImage(byte: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < IMAGE_BYTES; sent += 50_000) {
    yield new Uint8Array(50_000).fill(byte);
    await pause(1);
  }
}

async function putImages(): Promise<void> {
  for (let number = 0; number < Number(count); number++) {
    const id = crypto.randomUUID().replaceAll("-", "");
    const expiresAt = new Date(Date.now() + 3_600_000);
    const { signal } = new AbortController();
    const body = yieldImage(1 + (number % 250));
    await store.put({ id, contentType: "image/png", body, expiresAt, signal }).then(
      () => print(id),
      (error: NodeJS.ErrnoException) => print(`failed ${error.code}`),
    );
  }
}

await store.readSecrets();
await Promise.all(Array.from({ length: PUTS_AT_ONCE }, putImages));
