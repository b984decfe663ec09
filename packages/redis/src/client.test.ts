import { describe, expect, it } from "vitest";
import { isReplyError } from "./client.js";

const WRAPPED =
  "ERR Error running script (call to f_2a1b): @user_script:12: @user_script: 12: -READONLY You can't write.";

describe("isReplyError", () => {
  it.each([
    [new Error("NOSCRIPT No matching script. Please use EVAL."), "NOSCRIPT", true],
    [new Error(WRAPPED), "READONLY", true],
    [new Error(WRAPPED), "ERR", false],
    [new Error("ERR Error running script (call to f_2a1b): @user_script:1: nil"), "ERR", true],
    [new Error("ERRATIC"), "ERR", false],
    [new Error("connect ECONNREFUSED 127.0.0.1:6379"), "ERR", false],
    [new Error(""), "ERR", false],
    ["ERR no error", "ERR", false],
  ])("finds in %s the code %s: %s", (error, code, expected) => {
    expect(isReplyError(error, code)).toBe(expected);
  });
});
