import { BadReference } from "./bad-reference.js";

interface DataUrl {
  /** As written, such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** The bytes of `data:image/…;base64,…`. `Buffer` would accept any junk as base64, so it is checked first. */
export function readDataUrl(url: string): DataUrl {
  const comma = url.indexOf(",");
  const head = /^data:(image\/[\w.+-]+);base64$/i.exec(url.slice(0, Math.max(0, comma)));
  if (head === null) throw new BadReference("not-a-link");
  const base64 = url.slice(comma + 1);
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new BadReference("broken-base64");
  return { mediaType: head[1] ?? "", bytes: Buffer.from(base64, "base64") };
}
