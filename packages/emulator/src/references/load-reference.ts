import { drawPlaceholder } from "../drawing/placeholder.js";
import { BadReference } from "./bad-reference.js";
import { readDataUrl } from "./data-url.js";
import { type LoadedReference, measureReference } from "./measure-reference.js";

export interface ReferenceRules {
  /** The largest file, decoded. */
  readonly maxBytes: number;
  /** Ark: `data:image/PNG` is refused. */
  readonly needsLowerCaseMediaType: boolean;
  /** Schemes besides http, https and data, such as `oss:`. They are accepted unseen. */
  readonly otherSchemes: readonly string[];
  /** The bytes behind a link on this machine; `undefined` for one that leads elsewhere. */
  download(url: URL, maxBytes: number): Promise<Buffer | undefined>;
}

/** Reads a reference. An image on another machine is never downloaded: the emulator draws a placeholder for it. */
export async function loadReference(source: string, rules: ReferenceRules): Promise<LoadedReference> {
  if (source.trim() === "") throw new BadReference("empty");
  const bytes = source.startsWith("data:") ? decodeDataUrl(source, rules) : await openLink(source, rules);
  if (bytes === undefined) {
    return { ...(await drawPlaceholder(hostOf(source))), type: undefined, hasAlpha: false };
  }
  if (bytes.byteLength > rules.maxBytes) throw new BadReference("too-large");
  return measureReference(bytes);
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
