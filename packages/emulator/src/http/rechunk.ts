/** The same bytes in chunks of exactly the sizes that `nextSize` names (1 or more), the last one perhaps smaller. */
export async function* rechunk(
  chunks: AsyncIterable<Uint8Array>,
  nextSize: () => number,
): AsyncGenerator<Uint8Array> {
  let size = nextSize();
  let held: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    let rest = held.byteLength === 0 ? chunk : Buffer.concat([held, chunk]);
    while (rest.byteLength >= size) {
      yield rest.subarray(0, size);
      rest = rest.subarray(size);
      size = nextSize();
    }
    held = rest;
  }
  if (held.byteLength > 0) yield held;
}
