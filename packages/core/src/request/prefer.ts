import type { HeaderReader } from "../http.js";

/** What the gateway reads of the header `Prefer` (RFC 7240). */
export interface Prefer {
  /** The client wants a task in place of the result. */
  readonly respondAsync: boolean;
  /** For how many seconds the client wants to wait: a whole number of at least 0. */
  readonly wait: number | undefined;
}

const NO_PREFERENCE: Prefer = { respondAsync: false, wait: undefined };

/** A name, with a value that may be quoted. Parameters behind it are not read: none is defined for these preferences. */
const PREFERENCE =
  /^\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+))\s*)?)?(?:;|$)/;

const MAX_SECONDS_DIGITS = 9;

/**
 * Reads the header `Prefer`. Preferences that are unknown or not valid are ignored, and of several with the same name the
 * first counts (RFC 7240, section 2).
 */
export function readPrefer(headers: HeaderReader): Prefer {
  const header = headers.get("prefer");
  if (header === null) return NO_PREFERENCE;
  const found = new Map<string, string>();
  for (const preference of splitList(header)) {
    const [isValid, name = "", quoted, token = ""] = PREFERENCE.exec(preference) ?? [];
    if (isValid === undefined) continue;
    const key = name.toLowerCase();
    if (!found.has(key)) found.set(key, quoted?.replaceAll(/\\(.)/g, "$1") ?? token);
  }
  return { respondAsync: found.get("respond-async") === "", wait: readSeconds(found.get("wait")) };
}

/** Splits at commas that are not inside a quoted string. */
function splitList(header: string): readonly string[] {
  return header.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
}

function readSeconds(value = ""): number | undefined {
  return /^\d+$/.test(value) && value.length <= MAX_SECONDS_DIGITS ? Number(value) : undefined;
}
