import { type Arbitrary, array, constantFrom, integer, letrec, oneof, string, tuple } from "fast-check";

const space = constantFrom("", "", "", " ", "\n", "\r\n\t  ");

const scalar = oneof(
  constantFrom("0", "-0", "1.50", "-12e+3", "1E5", "9007199254740993", "12345678901234567890", "1e-7"),
  constantFrom("true", "false", "null"),
  integer().map(String),
);

/** Pieces of JSON strings, mostly such that could mislead a scanner. */
const piece = oneof(
  constantFrom('\\"', "\\\\", '\\\\\\"', "\\/", "\\u0022", "\\u005c", "\\ud83d\\uDE00", "\\ud800", "\\n"),
  constantFrom("雪", "😀", "é", "{", "}", "[", "]", ",", ":", " ", "data", "\u2028", "\u007f"),
  string({ unit: "grapheme", maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
);

/** The source text of a JSON string. */
export const anyStringText: Arbitrary<string> = array(piece, { maxLength: 8 }).map(
  (pieces) => `"${pieces.join("")}"`,
);

/** The maximum length of a key in the source text. */
export const MAX_KEY_BYTES = 40;

/** The source text of a key: often one with a meaning at the top level, sometimes with escapes. */
const key = oneof(
  constantFrom('"data"', '"model"', '"usage"', '"error"', '"d\\u0061ta"', '"\\u0075sage"', '"created"', '""'),
  anyStringText.filter((text) => Buffer.byteLength(text) <= MAX_KEY_BYTES),
);

const spaced = (text: Arbitrary<string>): Arbitrary<string> =>
  tuple(space, text, space).map((all) => all.join(""));

/** The source text of an object with these members, in this order. */
export function anyObjectText(member: Arbitrary<readonly [key: string, value: string]>): Arbitrary<string> {
  const written = tuple(member, space, space).map(
    ([[name, value], before, after]) => `${name}${before}:${after}${value}`,
  );
  return array(spaced(written), { maxLength: 6 }).map((members) => `{${members.join(",")}}`);
}

/** The source text of any JSON value, with white space, escapes, unusual numbers and duplicate keys. */
export const anyJsonText: Arbitrary<string> = letrec<{ value: string }>((tie) => ({
  value: oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    anyStringText,
    anyObjectText(tuple(key, tie("value"))),
    array(spaced(tie("value")), { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
  ),
})).value;

/** The source text of any JSON object. */
export const anyDocumentText: Arbitrary<string> = spaced(anyObjectText(tuple(key, anyJsonText)));
