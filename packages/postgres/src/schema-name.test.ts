import { expect, it } from "vitest";
import { quoteSchema } from "./schema-name.js";

it.each([
  ["calotype", '"calotype"'],
  ["Größe", '"Größe"'],
  ['x"; DROP SCHEMA public; --', '"x""; DROP SCHEMA public; --"'],
])("%s is quoted as %s", (name, quoted) => {
  expect(quoteSchema(name)).toBe(quoted);
});

it.each(["", "pg_mine", "x".repeat(64), "ü".repeat(32), "a\0b", "\ud800", "a$$b"])(
  "%j is rejected",
  (name) => {
    expect(() => quoteSchema(name)).toThrow("schema must be a name of 1 to 63 bytes");
  },
);
