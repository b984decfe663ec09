/** Cuts bytes at the given positions, in any order. */
export function cutBytes(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const cuts = [...new Set(places.map((place) => place % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}

/** Cuts bytes into chunks of one size, each with its own memory. */
export function cutEvery(bytes: Uint8Array, size: number): readonly Uint8Array[] {
  const chunks = Math.ceil(bytes.length / size);
  return Array.from({ length: chunks }, (_, index) => bytes.slice(index * size, (index + 1) * size));
}
