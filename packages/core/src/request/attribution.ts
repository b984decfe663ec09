import { invalidRequest } from "../errors.js";
import type { HeaderReader } from "../http.js";
import type { JsonObject } from "../util/json.js";

/** For whom a request is made, as its client says. It changes nothing but the usage record. */
export interface Attribution {
  readonly endUser?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/**
 * Reads the end user and the tags of a request.
 *
 * @throws GatewayError `invalid_request_error` for tags that are malformed, too long or too many
 */
export function readAttribution(headers: HeaderReader, fields: JsonObject): Attribution {
  const endUser = readEndUser(fields["safety_identifier"]) ?? readEndUser(fields["user"]);
  const tags = readTags(headers.get(TAGS_HEADER));
  return { endUser, tags };
}

/** In characters of Unicode. */
const MAX_END_USER = 128;

/** A longer name is cut: the fields belong to the provider, which checks them. Another type is not a name. */
function readEndUser(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  // Not the whole string is split into characters: it may be long.
  const start = value.slice(0, 2 * MAX_END_USER).toWellFormed();
  // Control characters, which not every database can keep.
  const name = Array.from(start.replaceAll(/\p{Cc}/gu, ""))
    .slice(0, MAX_END_USER)
    .join("")
    .trim();
  return name === "" ? undefined : name;
}

const TAGS_HEADER = "x-calotype-tags";
const MAX_TAGS = 8;
const KEY = /^[A-Za-z\d][A-Za-z\d._-]{0,63}$/;
/** Printable ASCII without a comma, which separates tags. */
const VALUE = /^[\x20-\x2b\x2d-\x7e]{1,128}$/;
const RULE =
  "must be up to 8 tags such as team=design, job=42: a key of 1 to 64 letters, digits, dots, hyphens and underscores that begins with a letter or a digit, and a value of 1 to 128 printable ASCII characters without a comma";

function readTags(header: string | null): Readonly<Record<string, string>> | undefined {
  if (header === null) return undefined;
  const parts = header.split(",").map((part) => part.trim());
  const given = parts.filter((part) => part !== "");
  if (given.length === 0) return undefined;
  if (given.length > MAX_TAGS) throw refuse(`has ${given.length}`);
  const tags = new Map<string, string>();
  for (const part of given) {
    const [, key = "", value = ""] = /^([^=]*?)\s*=\s*(.*)$/.exec(part) ?? [];
    if (!KEY.test(key) || !VALUE.test(value)) throw refuse(`has ${JSON.stringify(part.slice(0, 80))}`);
    if (tags.has(key)) throw refuse(`has ${key} twice`);
    tags.set(key, value);
  }
  return Object.fromEntries(tags);
}

const refuse = (problem: string): Error =>
  invalidRequest(`The header ${TAGS_HEADER} ${RULE}. It ${problem}.`, TAGS_HEADER);
