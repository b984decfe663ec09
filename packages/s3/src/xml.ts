/** An element of a document: its child elements and its own characters. Attributes are not kept. */
export interface XmlElement {
  /** The name without a namespace prefix. */
  readonly name: string;
  readonly children: readonly XmlElement[];
  readonly value: string;
}

interface OpenElement {
  name: string;
  children: XmlElement[];
  value: string;
}

const MAX_DEPTH = 16;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
/** A declaration or comment, a CDATA section, a tag, or characters. Each alternative consumes a bounded string. */
const TOKEN =
  /<\?[^>]*\?>|<!--(?<comment>[^]*?)-->|<!\[CDATA\[(?<data>[^]*?)\]\]>|<(?<close>\/?)(?<name>[\w.:-]+)(?:\s[^<>]*?)?(?<empty>\/?)>|(?<chars>[^<]+)/y;

/**
 * Parses the small documents that S3 sends. Knows the five entities of XML and character references. A document type
 * declaration, with which a document could define more entities, is an error.
 *
 * @throws Error if this is not such a document
 */
export function parseXml(xml: string): XmlElement {
  const root: OpenElement = { name: "", children: [], value: "" };
  const open: OpenElement[] = [root];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < xml.length) {
    const groups = TOKEN.exec(xml)?.groups;
    const current = open.at(-1);
    if (groups === undefined || current === undefined) throw new Error("The XML is malformed.");
    const { name, chars, data } = groups;
    if (chars !== undefined) current.value += decodeEntities(chars);
    else if (data !== undefined) current.value += data;
    else if (name !== undefined) readTag(open, current, name.replace(/^.*:/, ""), groups);
  }
  const [document, ...others] = root.children;
  if (open.length !== 1 || document === undefined || others.length > 0 || root.value.trim() !== "") {
    throw new Error("The XML is malformed.");
  }
  return document;
}

/** The value of the first child element with this name. `undefined` if there is none. */
export function childValue(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.value;
}

/** Escapes a string for the content of an element. */
export function escapeXml(value: string): string {
  return value
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function readTag(
  open: OpenElement[],
  current: OpenElement,
  name: string,
  { close, empty }: Readonly<Record<string, string | undefined>>,
): void {
  if (close === "/") {
    if (current.name !== name || open.length === 1 || empty === "/") throw new Error("The XML is malformed.");
    open.pop();
    return;
  }
  const element: OpenElement = { name, children: [], value: "" };
  current.children.push(element);
  if (empty === "/") return;
  if (open.length > MAX_DEPTH) throw new Error("The XML is nested too deeply.");
  open.push(element);
}

function decodeEntities(chars: string): string {
  return chars.replaceAll(/&([^;&]{0,10});?/g, (reference, entity: string) => {
    const digits = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(entity);
    const code = digits === null ? undefined : parseDigits(digits[1], digits[2]);
    const decoded =
      code === undefined ? ENTITIES[entity] : code <= 0x10_ff_ff ? String.fromCodePoint(code) : undefined;
    if (decoded === undefined || !reference.endsWith(";")) throw new Error("The XML has an unknown entity.");
    return decoded;
  });
}

function parseDigits(hexadecimal: string | undefined, decimal: string | undefined): number {
  return hexadecimal === undefined ? Number.parseInt(decimal ?? "", 10) : Number.parseInt(hexadecimal, 16);
}
