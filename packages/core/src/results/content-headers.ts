/** Image types that a browser shows without running anything in them, with their usual file extension. */
const SHOWN: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "image/tiff": "tiff",
  "image/heic": "heic",
  "image/heif": "heif",
  "image/jxl": "jxl",
};

const SVG = "image/svg+xml";
const MEDIA_TYPE = /^[a-z\d][a-z\d.+-]{0,63}\/[a-z\d][a-z\d.+-]{0,63}$/;

/**
 * Returns the headers that say what a stored image is. A browser shows images of the listed types. Everything else is a
 * download, and if a browser opens it anyway it runs no script: an SVG could otherwise act for the website that serves it.
 */
export function toContentHeaders(contentType: string, id: string): Record<string, string> {
  const type = contentType.trim().toLowerCase();
  const extension = Object.hasOwn(SHOWN, type) ? SHOWN[type] : undefined;
  const name = `filename="${id}.${extension ?? (type === SVG ? "svg" : "bin")}"`;
  const headers = {
    "content-type": MEDIA_TYPE.test(type) ? type : "application/octet-stream",
    "x-content-type-options": "nosniff",
  };
  if (extension !== undefined) return { ...headers, "content-disposition": `inline; ${name}` };
  return {
    ...headers,
    "content-disposition": `attachment; ${name}`,
    "content-security-policy": "sandbox; default-src 'none'",
  };
}
