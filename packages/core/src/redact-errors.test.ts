import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { toPlainError } from "./redact.js";

const KEY = "sk-canary-2a6c9f14";
const clean = (text: string): string => text.replaceAll(KEY, "***");
const shown = (error: Error): string => inspect(error, { depth: Infinity, showHidden: true });

describe("toPlainError", () => {
  it("keeps name, message, stack, code and causes", () => {
    const inner = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    const error = new TypeError("fetch failed", { cause: inner });
    const copy = toPlainError(error);
    expect(copy).toMatchObject({ name: "TypeError", message: "fetch failed", stack: error.stack });
    expect(copy.cause).toMatchObject({ name: "Error", message: "refused", code: "ECONNREFUSED" });
  });

  it.each([
    ["its own fields", Object.assign(new Error("failed"), { request: { headers: { authorization: KEY } } })],
    [
      "fields of its cause",
      new Error("failed", { cause: Object.assign(new Error("no"), { parameters: [KEY] }) }),
    ],
    [
      "a cause that is not an error",
      new Error("failed", { cause: { headers: new Headers({ "x-key": KEY }) } }),
    ],
    ["a thrown object", { headers: { authorization: KEY } }],
  ])("omits the contents of %s", (_where, thrown) => {
    expect(shown(toPlainError(thrown)).includes(KEY)).toBe(false);
  });

  it.each([
    ["a message and the stack", new Error(`params: ${KEY}`)],
    ["the message of a cause", new Error("failed", { cause: new Error(`params: ${KEY}`) })],
    ["a name", Object.assign(new Error("failed"), { name: KEY })],
    ["a code", Object.assign(new Error("failed"), { code: KEY })],
    ["a thrown text", `failed with ${KEY}`],
  ])("cleans %s", (_what, thrown) => {
    const text = shown(toPlainError(thrown, clean));
    expect(text.includes(KEY)).toBe(false);
    expect(text).toContain("***");
  });

  it.each([[undefined], [null], [7]])("makes an Error of %s", (thrown) => {
    expect(toPlainError(thrown)).toMatchObject({ message: "No Error was thrown." });
  });

  it("ends if an error is its own cause", () => {
    const error = new Error("round");
    error.cause = error;
    expect(shown(toPlainError(error)).match(/\[cause\]/g)).toHaveLength(4);
  });
});
