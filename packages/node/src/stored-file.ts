import { join } from "node:path";
import type { ImageToStore } from "@calotype/core/stores";

/** What the name of a stored file says about its image. */
export type FileFacts = Pick<ImageToStore, "id" | "contentType" | "expiresAt">;

/** The usual extension of each image type, so that other programs open the files. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "image/tiff": "tiff",
  "image/heic": "heic",
  "image/svg+xml": "svg",
  "application/octet-stream": "bin",
};
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(EXTENSIONS).map(([type, extension]) => [extension, type]),
);

const ID = /^[\da-f]{32}$/;
const MEDIA_TYPE = /^[a-z\d][a-z\d.+-]{0,63}\/[a-z\d][a-z\d.+-]{0,63}$/;
const NAME = /^([\da-f]{32})\.(\d{1,12})\.([a-z\d_.+-]+)$/;

/**
 * The name of the file of an image: its id, the second of its end, and its type. So one look at a folder finds an image with
 * its type, and a sweep opens no file. A type without a usual extension has `_` in place of its slash.
 *
 * @throws TypeError for an id that is not 32 hexadecimal digits
 */
export function toFileName({ id, contentType, expiresAt }: FileFacts): string {
  if (!ID.test(id)) throw new TypeError("The id of an image must be 32 hexadecimal digits.");
  const type = contentType.toLowerCase();
  const known = MEDIA_TYPE.test(type) ? type : "application/octet-stream";
  const extension = EXTENSIONS[known] ?? known.replace("/", "_");
  return `${id}.${Math.ceil(expiresAt.getTime() / 1000)}.${extension}`;
}

/** Reads a name that {@link toFileName} made. Returns `undefined` for any other. */
export function parseFileName(name: string): FileFacts | undefined {
  const [, id, seconds, extension] = NAME.exec(name) ?? [];
  if (id === undefined || extension === undefined) return undefined;
  const contentType = TYPES.get(extension) ?? extension.replace("_", "/");
  return MEDIA_TYPE.test(contentType)
    ? { id, contentType, expiresAt: new Date(Number(seconds) * 1000) }
    : undefined;
}

/** The folder of an image: two levels with 256 folders each, so that no folder has too many files. */
export function findFolder(directory: string, id: string): string {
  return join(directory, id.slice(0, 2), id.slice(2, 4));
}
