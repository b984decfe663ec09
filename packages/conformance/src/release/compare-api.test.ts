import { expect, it } from "vitest";
import { compareApi } from "./compare-api.js";

const reportOf = (...blocks: string[]): string => `\`\`\`ts\n${blocks.join("\n\n")}\n\`\`\`\n`;

it("names what is new, removed, extended and changed, with the lines that differ", () => {
  const before = reportOf(
    "export interface A {\n  a: string;\n}",
    "export declare function b(): void;",
    "export interface C {\n  c: string;\n}",
    "export type D = 1;",
  );
  const after = reportOf(
    "export interface A {\n  a: number;\n}",
    "export interface C {\n  c: string;\n  d?: string;\n}",
    "export type D = 1;",
    "export declare const e: 1;",
  );
  expect(compareApi(before, after)).toEqual({
    added: ["e"],
    removed: ["b"],
    extended: ["C"],
    changed: ["A"],
    lines: new Map([
      ["A", ["-  a: string;", "+  a: number;"]],
      ["C", ["+  d?: string;"]],
    ]),
  });
});

it("an entry point without an earlier report has only new names", () => {
  expect(compareApi("", reportOf("export type A = 1;", "type B = 2;"))).toMatchObject({
    added: ["A"],
    removed: [],
    extended: [],
    changed: [],
  });
});

it("a type that is not exported counts only if it changes, or becomes public", () => {
  const before = reportOf("export type A = B;", "type B = 1;", "type C = 1;", "export type D = 1;");
  const after = reportOf(
    "export type A = B;",
    "type B = 2;",
    "export type C = 1;",
    "type D = 1;",
    "type E = 1;",
  );
  expect(compareApi(before, after)).toMatchObject({
    added: ["C"],
    removed: ["D"],
    extended: [],
    changed: ["B"],
  });
});

it.each([
  ["an optional member", "interface A {\n  a: 1;\n}", "interface A {\n  a: 1;\n  b?: 2;\n}"],
  ["an optional method", "interface A {\n  a(): 1;\n}", "interface A {\n  b?(): 2;\n  a(): 1;\n}"],
  ["an optional member of a type", "type A = {\n  a: 1;\n};", "type A = {\n  a: 1;\n  b?: 2;\n};"],
  ["an alternative", 'type A = "a" | "b";', 'type A = "a" | "c" | "b";'],
  ["an optional parameter", "declare function A(b: 1): 3;", "declare function A(b: 1, c?: 2): 3;"],
  ["more arguments", "declare function A(b: 1): 3;", "declare function A(b: 1, ...c: 2[]): 3;"],
  ["a method of a class", "declare class A {\n  a(): 1;\n}", "declare class A {\n  a(): 1;\n  b(): 2;\n}"],
])("%s extends a name", (_, before, after) => {
  expect(compareApi(reportOf(`export ${before}`), reportOf(`export ${after}`))).toMatchObject({
    extended: ["A"],
    changed: [],
  });
});

it.each([
  ["a required member", "interface A {\n  a: 1;\n}", "interface A {\n  a: 1;\n  b: 2;\n}"],
  ["a member that is required now", "interface A {\n  a?: 1;\n}", "interface A {\n  a: 1;\n}"],
  ["a member that is gone", "interface A {\n  a?: 1;\n  b?: 2;\n}", "interface A {\n  a?: 1;\n}"],
  ["another base", "interface A extends B {\n  a: 1;\n}", "interface A extends C {\n  a: 1;\n}"],
  ["a missing alternative", 'type A = "a" | "b" | "c";', 'type A = "a" | "b";'],
  ["an alternative of a single type", 'type A = "a";', 'type A = "a" | "b";'],
  ["a required parameter", "declare function A(b: 1): 3;", "declare function A(b: 1, c: 2): 3;"],
  ["a parameter before others", "declare function A(b: 1): 3;", "declare function A(c?: 2, b: 1): 3;"],
  ["another result", "declare function A(b: 1): 3;", "declare function A(b: 1): 4;"],
  ["another kind", "declare const A: 1;", "declare function A(): 1;"],
])("%s changes a name", (_, before, after) => {
  expect(compareApi(reportOf(`export ${before}`), reportOf(`export ${after}`))).toMatchObject({
    extended: [],
    changed: ["A"],
  });
});
