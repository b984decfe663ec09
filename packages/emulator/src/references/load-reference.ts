import { drawPlaceholder } from "../drawing/placeholder.js";
import { BadReference } from "./bad-reference.js";
import { readDataUrl } from "./data-url.js";
import { decodeImage, type LoadedReference } from "./decode-image.js";

export interface ReferenceRules {
  /** The largest file, without the base64 of a data URL. */
  readonly maxBytes: number;
  /** Ark refuses `data:image/PNG`. */
  readonly needsLowerCaseMediaType: boolean;
  /** Schemes besides http, https and data, such as `oss:`. Their images are accepted without a download. */
  readonly otherSchemes: readonly string[];
  /** The bytes of an image on this machine. `undefined` if the link is for another machine. */
  download(url: URL, maxBytes: number): Promise<Buffer | undefined>;
  /** Called with the bytes of the image, if the emulator has them. */
  onBytes?: (bytes: Buffer) => void;
}

/** Reads a reference. An image on another machine is never downloaded: the emulator draws a placeholder for it. */
export async function loadReference(source: string, rules: ReferenceRules): Promise<LoadedReference> {
  if (source.trim() === "") throw new BadReference("empty");
  const bytes = source.startsWith("data:") ? decodeDataUrl(source, rules) : await openLink(source, rules);
  if (bytes === undefined) {
    return { ...(await drawPlaceholder(hostOf(source))), type: undefined, hasAlpha: false };
  }
  if (bytes.byteLength > rules.maxBytes) throw new BadReference("too-large");
  rules.onBytes?.(bytes);
  return decodeImage(bytes);
}

function decodeDataUrl(source: string, rules: ReferenceRules): Buffer {
  const { mediaType, bytes } = readDataUrl(source);
  if (rules.needsLowerCaseMediaType && mediaType !== mediaType.toLowerCase())
    throw new BadReference("not-a-link");
  return bytes;
}

async function openLink(source: string, rules: ReferenceRules): Promise<Buffer | undefined> {
  const url = URL.canParse(source) ? new URL(source) : undefined;
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  if (url === undefined || !(isWeb || rules.otherSchemes.includes(url.protocol)))
    throw new BadReference("not-a-link");
  return isWeb ? rules.download(url, rules.maxBytes) : undefined;
}

function hostOf(source: string): string {
  const { protocol, host } = new URL(source);
  return host === "" ? protocol : host;
}
