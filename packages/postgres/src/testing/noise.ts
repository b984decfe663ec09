/** A string of about this number of bytes in UTF-8 that the server cannot compress. */
export function noise(bytes: number): string {
  const characters = Array.from({ length: bytes / 3 }, (_, at) => 0x4e00 + ((at * 7919) % 20_000));
  return String.fromCodePoint(...characters);
}
