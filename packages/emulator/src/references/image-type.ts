/** The formats that both providers read; HEIC and HEIF only the newer models of Ark. */
export type ImageType = "jpeg" | "png" | "webp" | "bmp" | "tiff" | "gif" | "heif";

/** The format by its first bytes; names and media types are not to be trusted. */
export function sniffImageType(bytes: Buffer): ImageType | undefined {
  const start = bytes.toString("latin1", 0, 12);
  if (start.startsWith("\xff\xd8\xff")) return "jpeg";
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "webp";
  if (start.startsWith("GIF8")) return "gif";
  if (start.startsWith("BM")) return "bmp";
  if (start.startsWith("II*\0") || start.startsWith("MM\0*")) return "tiff";
  return /^....ftyp(?:heic|heix|hevc|heim|mif1|msf1)/s.test(start) ? "heif" : undefined;
}
