interface Signature {
  readonly mediaType: string;
  /** Where it stands in the file. */
  readonly at: number;
  readonly bytes: string;
  /** What the file begins with, where that is something else. */
  readonly container?: string;
}

const SIGNATURES: readonly Signature[] = [
  { mediaType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mediaType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
  { mediaType: "image/webp", at: 8, bytes: "WEBP", container: "RIFF" },
  { mediaType: "image/gif", at: 0, bytes: "GIF8" },
  { mediaType: "image/bmp", at: 0, bytes: "BM" },
  { mediaType: "image/tiff", at: 0, bytes: "II*\0" },
  { mediaType: "image/tiff", at: 0, bytes: "MM\0*" },
  ...["heic", "heix", "hevc", "hevx"].map((brand) => ({
    mediaType: "image/heic",
    at: 4,
    bytes: `ftyp${brand}`,
  })),
  ...["mif1", "msf1"].map((brand) => ({ mediaType: "image/heif", at: 4, bytes: `ftyp${brand}` })),
];

/** The media type that an image's first bytes show, or `undefined` for what is no image known here. */
export function detectImageType(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  return SIGNATURES.find(
    ({ at, bytes: mark, container = "" }) => start.startsWith(mark, at) && start.startsWith(container),
  )?.mediaType;
}
