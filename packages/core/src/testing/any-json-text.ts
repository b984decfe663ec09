import { type Arbitrary, array, constantFrom, integer, letrec, oneof, string, tuple } from "fast-check";

const space = constantFrom("", "", "", " ", "\n", "\r\n\t  ");

const scalar = oneof(
  constantFrom("0", "-0", "1.50", "-12e+3", "1E5", "9007199254740993", "12345678901234567890", "1e-7"),
  constantFrom("true", "false", "null"),
  integer().map(String),
);

/** Pieces of strings as they are written, most of them such as mislead a scanner. */
const piece = oneof(
  constantFrom('\\"', "\\\\", '\\\\\\"', "\\/", "\\u0022", "\\u005c", "\\ud83d\\uDE00", "\\ud800", "\\n"),
  constantFrom("雪", "😀", "é", "{", "}", "[", "]", ",", ":", " ", "data", "\u2028", "\u007f"),
  string({ unit: "grapheme", maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
);

/** A JSON string as it is written. */
export const anyStringText: Arbitrary<string> = array(piece, { maxLength: 8 }).map(
  (pieces) => `"${pieces.join("")}"`,
);

/** Keys are not longer, as they are written. */
export const MAX_KEY_BYTES = 40;

/** A key as it is written: often one that has a meaning at the top, at times written in escapes. */
const key = oneof(
  constantFrom('"data"', '"model"', '"usage"', '"error"', '"d\\u0061ta"', '"\\u0075sage"', '"created"', '""'),
  anyStringText.filter((text) => Buffer.byteLength(text) <= MAX_KEY_BYTES),
);

const spaced = (text: Arbitrary<string>): Arbitrary<string> =>
  tuple(space, text, space).map((all) => all.join(""));

/** An object of such members as it is written, in that order. */
export function anyObjectText(member: Arbitrary<readonly [key: string, value: string]>): Arbitrary<string> {
  const written = tuple(member, space, space).map(
    ([[name, value], before, after]) => `${name}${before}:${after}${value}`,
  );
  return array(spaced(written), { maxLength: 6 }).map((members) => `{${members.join(",")}}`);
}

/** Any JSON value as it may be written: with white space, escapes, odd numbers, keys given twice. */
export const anyJsonText: Arbitrary<string> = letrec<{ value: string }>((tie) => ({
  value: oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    anyStringText,
    anyObjectText(tuple(key, tie("value"))),
    array(spaced(tie("value")), { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
  ),
})).value;

/** A JSON object as it may be written. */
export const anyDocumentText: Arbitrary<string> = spaced(anyObjectText(tuple(key, anyJsonText)));
