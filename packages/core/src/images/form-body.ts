import { encodeText } from "../util/utf8.js";
import { type BodyPart, createProducedBody, type ProducedBody } from "./produced-body.js";
import { decodeDataUrl, isUploadedImage, type ReferenceImage, readMediaType } from "./reference-image.js";

/** A part of a form: a field, or a file. Several parts may have the same name. */
export type FormPart =
  | { readonly name: string; readonly value: string }
  | {
      readonly name: string;
      /** An upload or a data URL. A link has no bytes here, see `Dialect.needsImageBytes`. */
      readonly file: ReferenceImage;
      /** Default: `image.png`, with the extension of the image's type. */
      readonly fileName?: string | undefined;
    };

/** A form as the body of a call. */
export interface FormBody {
  readonly body: ProducedBody;
  /** With the boundary. */
  readonly contentType: string;
}

/**
 * Writes the body of a `multipart/form-data` call (RFC 7578). Uploads are sent as their bytes while the body is sent; no
 * copy of a whole image is created.
 *
 * @throws TypeError if a file is a link, which has no bytes
 */
export function toFormBody(parts: readonly FormPart[]): FormBody {
  // A client cannot know this value, so it cannot send a field or a file that contains it.
  const boundary = `calotype-${crypto.randomUUID()}`;
  const written = parts.flatMap((part): BodyPart[] => [
    encodeText(`--${boundary}\r\n${writeHead(part)}\r\n\r\n`),
    "value" in part ? encodeText(part.value) : toBytes(part.file),
    encodeText("\r\n"),
  ]);
  const body = createProducedBody([...written, encodeText(`--${boundary}--\r\n`)]);
  return { body, contentType: `multipart/form-data; boundary=${boundary}` };
}

function writeHead(part: FormPart): string {
  const disposition = `Content-Disposition: form-data; name="${escapeName(part.name)}"`;
  if ("value" in part) return disposition;
  const mediaType = readMediaType(part.file) ?? "application/octet-stream";
  const fileName = part.fileName ?? `image.${EXTENSIONS[mediaType] ?? "bin"}`;
  return `${disposition}; filename="${escapeName(fileName)}"\r\nContent-Type: ${mediaType}`;
}

/** As browsers do it: the HTML standard, "multipart/form-data encoding algorithm". */
function escapeName(name: string): string {
  return name.replaceAll("\r", "%0D").replaceAll("\n", "%0A").replaceAll('"', "%22");
}

/** The usual extensions of file names. Some providers read the type of a file from its name. */
export const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/bmp": "bmp",
  "image/tiff": "tiff",
  "image/heic": "heic",
  "image/heif": "heif",
};

function toBytes(file: ReferenceImage): BodyPart {
  return isUploadedImage(file) ? { raw: file } : decodeDataUrl(file);
}
