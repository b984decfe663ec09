/** Uncompressed pixels, three bytes each, from top to bottom. */
export interface RawImage {
  readonly pixels: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Reads a Windows bitmap of 24 or 32 bits, which sharp does not; `undefined` for the rarer kinds. */
export function decodeBmp(bytes: Buffer): RawImage | undefined {
  if (bytes.length < 54) return undefined;
  const [width, signedHeight] = [bytes.readInt32LE(18), bytes.readInt32LE(22)];
  const height = Math.abs(signedHeight);
  const bytesPerPixel = bytes.readUInt16LE(28) / 8;
  const isCompressed = bytes.readUInt32LE(30) !== 0 && bytesPerPixel !== 4;
  if (width <= 0 || height === 0 || isCompressed || (bytesPerPixel !== 3 && bytesPerPixel !== 4))
    return undefined;
  const start = bytes.readUInt32LE(10);
  const bytesPerRow = Math.ceil((width * bytesPerPixel) / 4) * 4;
  if (bytes.length < start + bytesPerRow * height) return undefined;
  const pixels = Buffer.allocUnsafe(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    // Rows go from bottom to top unless the height is negative.
    let from = start + bytesPerRow * (signedHeight > 0 ? height - 1 - y : y);
    let to = y * width * 3;
    for (let x = 0; x < width; x += 1) {
      pixels[to] = bytes[from + 2] ?? 0;
      pixels[to + 1] = bytes[from + 1] ?? 0;
      pixels[to + 2] = bytes[from] ?? 0;
      from += bytesPerPixel;
      to += 3;
    }
  }
  return { pixels, width, height };
}
