/** One part of a multipart form. */
export interface WirePart {
  readonly name?: string;
  readonly filename?: string;
  readonly type?: string;
  readonly content: string | Uint8Array;
  /** More header lines, without line ends. */
  readonly headers?: readonly string[];
}

export const BOUNDARY = "----form-boundary-7f3a";
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** Builds the bytes of a form, also of one that no client would send. */
export function formBytes(...parts: readonly WirePart[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([...parts.map(partBytes), Buffer.from(`--${BOUNDARY}--\r\n`)]));
}

function partBytes({ name, filename, type, content, headers = [] }: WirePart): Buffer {
  const disposition = [
    "form-data",
    ...(name === undefined ? [] : [`name="${name}"`]),
    ...(filename === undefined ? [] : [`filename="${filename}"`]),
  ].join("; ");
  const lines = [
    `--${BOUNDARY}`,
    ...headers,
    `Content-Disposition: ${disposition}`,
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
    "",
    "",
  ];
  return Buffer.concat([Buffer.from(lines.join("\r\n")), Buffer.from(content), Buffer.from("\r\n")]);
}

/** Returns the bytes of a body in chunks of one size. */
export async function* inPieces(bytes: Uint8Array, size = 16_384): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** The shortest bytes that are detected as a PNG. */
export const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3, 4]);
export const PNG_URL = `data:image/png;base64,${Buffer.from(PNG).toString("base64")}`;
export const JPEG = new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70, 73, 70, 0]);
export const JPEG_URL = `data:image/jpeg;base64,${Buffer.from(JPEG).toString("base64")}`;
