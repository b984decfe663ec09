/**
 * Reads the whole body. Returns `undefined` if it is larger than `maxBytes`. Then the rest is read and dropped, because
 * a client that is still sending would see a broken connection instead of the response.
 */
export async function readLimited(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) chunks.length = 0;
    else chunks.push(chunk);
  }
  return size > maxBytes ? undefined : Buffer.concat(chunks, size);
}
