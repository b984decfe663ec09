/** Stores images of several sizes with `@calotype/s3` and reads them again. Prints the sizes that came back unchanged. */
import { createS3Store } from "@calotype/s3";

const endpoint = process.argv[2] ?? "";
const store = createS3Store({
  endpoint,
  region: "us-east-1",
  bucket: "pictures",
  accessKeyId: "key",
  secretAccessKey: "secret",
});
const same = [];
for (const byteLength of [1_000, 300_000, 8_388_608, 20_000_000]) {
  const bytes = Uint8Array.from({ length: byteLength }, (_, index) => (index * 31) % 251);
  const image = {
    id: String(byteLength),
    contentType: "image/png",
    expiresAt: new Date(Date.now() + 60_000),
  };
  await store.put({ ...image, body: toChunks(bytes), signal: AbortSignal.timeout(30_000) });
  const stored = await store.open(image.id);
  if (stored !== undefined && (await isSame(stored.body, bytes))) same.push(stored.byteLength);
}
process.stdout.write(JSON.stringify(same));

async function* toChunks(bytes) {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

async function isSame(body, bytes) {
  let at = 0;
  for await (const chunk of body) {
    for (const byte of chunk) if (byte !== bytes[at++]) return false;
  }
  return at === bytes.length;
}
