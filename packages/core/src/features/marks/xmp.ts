import type { ImageMark } from "../../types.js";
import { encodeText } from "../../util/utf8.js";
import { type Mark, SOURCE_TYPE } from "./mark.js";

const IPTC = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/";
const TC260 = "http://www.tc260.org.cn/ns/AIGC/1.0/";
/** The source types that say that a trained model made the image, or a part of it. */
const MADE_BY_AI = /\/(?:trainedAlgorithmicMedia|compositeWithTrainedAlgorithmicMedia|compositeSynthetic)$/;

/** The XMP of a marked image. */
export type MarkedXmp =
  /** `undefined`: it stays as it is. */
  | { readonly mark: "marked"; readonly packet: Uint8Array | undefined }
  | { readonly mark: Exclude<ImageMark, "marked"> };

/**
 * Adds a mark to the XMP of an image. What the XMP says already stays, also a mark.
 *
 * @param existing the packet of the image. `undefined`: it has none
 * @param hasAigc true if the image has the value `AIGC` at another place
 */
export function markXmp(existing: Uint8Array | undefined, mark: Mark, hasAigc: boolean): MarkedXmp {
  if (existing === undefined) {
    const properties = listMissing(mark, { hasSourceType: false, hasAigc });
    return {
      mark: "marked",
      packet: properties.length === 0 ? undefined : encodeText(writePacket(properties)),
    };
  }
  const found = readXmp(existing);
  if (found === undefined) return { mark: "xmp" };
  // The hash of a manifest that is stored elsewhere.
  if (found.hasManifest) return { mark: "c2pa" };
  const { sourceType } = found;
  if (mark.hasSourceType && sourceType !== undefined && !MADE_BY_AI.test(sourceType)) {
    return { mark: "source_type" };
  }
  const properties = listMissing(mark, {
    hasSourceType: sourceType !== undefined,
    hasAigc: hasAigc || found.hasAigc,
  });
  if (properties.length === 0) return { mark: "marked", packet: undefined };
  const { text, start, prefix, about } = found;
  const description = writeDescription(properties, prefix, about);
  return { mark: "marked", packet: encodeText(text.slice(0, start) + description + text.slice(start)) };
}

/** A packet without the white space that other programs may write to. */
export function withoutPadding(packet: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(packet);
  const end = text.lastIndexOf("<?xpacket end=");
  return end === -1 ? packet : encodeText(`${text.slice(0, end).trimEnd()}\n${text.slice(end)}`);
}

/** Which marks the image has. */
interface FoundMarks {
  readonly hasSourceType: boolean;
  readonly hasAigc: boolean;
}

/** A property of the mark. */
interface Property {
  readonly name: string;
  readonly namespace: string;
  readonly value: string;
}

/** The properties of the mark that are missing. */
function listMissing({ hasSourceType, aigc }: Mark, found: FoundMarks): readonly Property[] {
  const missing: Property[] = [];
  if (hasSourceType && !found.hasSourceType) {
    missing.push({ name: "Iptc4xmpExt:DigitalSourceType", namespace: IPTC, value: SOURCE_TYPE });
  }
  if (aigc !== undefined && !found.hasAigc) {
    missing.push({ name: "TC260:AIGC", namespace: TC260, value: aigc });
  }
  return missing;
}

/**
 * The namespaces are declared before the properties, because some readers take a declaration in a property as a part of its value.
 *
 * @param prefix that of the namespace of RDF, with its colon
 * @param about the attribute `about` of the other descriptions: all of a packet must have the same
 */
function writeDescription(properties: readonly Property[], prefix: string, about: string): string {
  const namespaces = properties.map(({ name, namespace }) => ` xmlns:${name.split(":")[0]}="${namespace}"`);
  const elements = properties.map(({ name, value }) => `<${name}>${escapeXml(value)}</${name}>`);
  return `<${prefix}Description ${about}${namespaces.join("")}>${elements.join("")}</${prefix}Description>`;
}

function writePacket(properties: readonly Property[]): string {
  const description = writeDescription(properties, "rdf:", 'rdf:about=""');
  return (
    '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/">' +
    `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${description}</rdf:RDF></x:xmpmeta>\n` +
    '<?xpacket end="w"?>'
  );
}

function escapeXml(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** What a packet says. */
interface FoundXmp {
  readonly text: string;
  /** Where the descriptions begin. */
  readonly start: number;
  /** The prefix of the namespace of RDF, with its colon. */
  readonly prefix: string;
  /** The attribute `about` of the first description. */
  readonly about: string;
  /** The value of `DigitalSourceType`. */
  readonly sourceType: string | undefined;
  readonly hasAigc: boolean;
  /** True if it names a C2PA manifest that is stored elsewhere. */
  readonly hasManifest: boolean;
}

/** @returns `undefined` if it is not XMP in UTF-8 with at least one description */
function readXmp(packet: Uint8Array): FoundXmp | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(packet);
  } catch {
    return undefined;
  }
  const tags = readTags(text);
  const opening = tags?.find((tag) => /^<(?:[\w.-]+:)?RDF[\s>]/.test(text.slice(tag.start, tag.end)));
  if (tags === undefined || opening === undefined) return undefined;
  const prefix = text.slice(opening.start + 1, text.indexOf("RDF", opening.start));
  // Not complete, or empty.
  if (!tags.some((tag) => text.startsWith(`</${prefix}RDF`, tag.start))) return undefined;
  let about = `${prefix}about=""`;
  let sourceType: string | undefined;
  const hasNamespace = text.includes(TC260);
  let hasAigc = false;
  let hasManifest = false;
  for (const [index, { start, end }] of tags.entries()) {
    const tag = text.slice(start, end);
    const nextStart = tags[index + 1]?.start ?? text.length;
    if (tag.startsWith(`<${prefix}Description`)) {
      about = /\s([\w.-]+:about\s*=\s*(?:"[^"]*"|'[^']*'))/.exec(tag)?.[1] ?? about;
    }
    sourceType ??= readProperty("DigitalSourceType", tag, text.slice(end, nextStart));
    hasAigc ||= hasNamespace && readProperty("AIGC", tag, "") !== undefined;
    hasManifest ||= tag.includes("provenance") && readProperty("provenance", tag, "") !== undefined;
  }
  return { text, start: opening.end, prefix, about, sourceType, hasAigc, hasManifest };
}

/**
 * The value of a property in an attribute, in the content of an element, or in its `rdf:resource`.
 *
 * @param content the text after the tag
 * @returns `undefined` if the tag does not have the property
 */
function readProperty(name: string, tag: string, content: string): string | undefined {
  if (!tag.includes(`:${name}`)) return undefined;
  const attribute = new RegExp(`\\s[\\w.-]+:${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(tag);
  if (attribute !== null) return attribute[1] ?? attribute[2];
  if (!new RegExp(`^<[\\w.-]+:${name}[\\s/>]`).test(tag)) return undefined;
  const resource = /:resource\s*=\s*(?:"([^"]*)"|'([^']*)')/.exec(tag);
  return resource?.[1] ?? resource?.[2] ?? content.trim();
}

interface Tag {
  readonly start: number;
  readonly end: number;
}

/** A packet with more tags is not read: it would be an attack. */
const MAX_TAGS = 100_000;

/** The tags of XML, without comments, CDATA and instructions. `undefined` if one is not complete, or a document type follows. */
function readTags(text: string): readonly Tag[] | undefined {
  const tags: Tag[] = [];
  for (let start = text.indexOf("<"); start !== -1 && tags.length < MAX_TAGS; ) {
    const skipped = SKIPPED.find(([beginning]) => text.startsWith(beginning, start));
    const end = skipped === undefined ? findTagEnd(text, start) : text.indexOf(skipped[1], start + 2);
    if (end === -1 || text.startsWith("<!D", start)) return undefined;
    if (skipped === undefined) tags.push({ start, end: end + 1 });
    start = text.indexOf("<", end + 1);
  }
  return tags.length < MAX_TAGS ? tags : undefined;
}

const SKIPPED = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
] as const;

/** The index of the `>` of a tag, which may have others in quotes. -1: there is none. */
function findTagEnd(text: string, start: number): number {
  const pattern = /[>"']/g;
  pattern.lastIndex = start;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    if (found[0] === ">") return found.index;
    const closing = text.indexOf(found[0], found.index + 1);
    if (closing === -1) return -1;
    pattern.lastIndex = closing + 1;
  }
  return -1;
}
