/**
 * Strings that a ledger must distinguish and return unchanged. NUL and unpaired surrogates are not among them,
 * because PostgreSQL stores neither, and no id, caller or model can contain them.
 */
export const HOSTILE_STRINGS: Readonly<Record<string, string>> = {
  "the empty string": "",
  "a space": " ",
  "spaces around": " me ",
  "another case": "ME",
  "a quote": "o'neill",
  "a statement": "x'; DROP TABLE records; --",
  "double quotes": '"me"',
  "a backslash": "back\\slash\\",
  "a template": "${me} {{me}} %s $1 ?1 :me @me",
  "wildcards of LIKE": "m_%*[a-z]",
  "line ends": "one\ntwo\r\nthree",
  "line ends of JavaScript": "one\u2028two\u2029three",
  "control characters": "\u0001\u001b[31m\u007f",
  "a zero": "0",
  "a number": "007",
  "a number with an exponent": "1e3",
  "a JSON keyword": "null",
  "a JavaScript keyword": "undefined",
  "the prototype": "__proto__",
  "the constructor": "constructor",
  "a method of objects": "hasOwnProperty",
  "composed é": "\u00e9",
  "decomposed é": "e\u0301",
  "the last of the basic plane": "\ufffd",
  "an emoji": "🖼️",
  "a family of emoji": "👨‍👩‍👧‍👦",
  "right to left": "\u202eשלום",
  Chinese: "图像生成",
  "512 bytes": "x".repeat(512),
  "512 bytes of another end": `${"x".repeat(511)}y`,
  "512 bytes that no database can compress": noise(512),
};

/** A string of this number of bytes in UTF-8, of Chinese characters and ASCII, that a database cannot compress. */
export function noise(bytes: number): string {
  const characters = Array.from(
    { length: Math.floor(bytes / 3) },
    (_, at) => 0x4e00 + ((at * 7919) % 20_000),
  );
  return String.fromCodePoint(...characters) + "y".repeat(bytes % 3);
}
