import { describe, expect, it } from "vitest";
import { findErrorMessage, hideContent, maySendAgain } from "./failure.js";

describe("the message of an error response that is not in the family's format", () => {
  it.each([
    ["plain text", "maintenance until 5 pm", "maintenance until 5 pm"],
    ["text of several lines", "  size is wrong:\r\n\tuse 2K\n", "size is wrong: use 2K"],
    ["an HTML page", "<!DOCTYPE html>\n<html><head><title>503 Busy</title></head><body>…", "503 Busy"],
    ["an HTML page without a title", "<html><body>nginx</body></html>", undefined],
    ["message", '{"message":"too many"}', "too many"],
    ["detail", '{"detail":"Not authenticated"}', "Not authenticated"],
    ["a string error", '{"error":"forbidden"}', "forbidden"],
    ["an error object of another shape", '{"error":{"detail":"no such zone"}}', "no such zone"],
    ["a list of errors", '{"errors":[{"message":"first"},{"message":"second"}]}', "first"],
    ["an empty field", '{"message":" ","msg":"second"}', "second"],
    ["JSON without a known field", '{"status":503}', undefined],
    ["a JSON string", '"no"', "no"],
    ["JSON that is null", "null", undefined],
    ["a JSON list", "[1]", undefined],
    ["nothing", "", undefined],
    ["white space", " \n", undefined],
    ["bytes that are not text", "\u001f\ufffd\b\u0000", undefined],
  ])("is found in %s", (_what, text, message) => {
    expect(findErrorMessage(text)).toBe(message);
  });
});

describe("maySendAgain", () => {
  it.each([
    ["unreachable", true, true],
    ["credential", true, true],
    ["rate", true, true],
    ["overload", true, true],
    ["server", false, true],
    ["timeout", false, true],
    ["broken", false, true],
    ["content", false, false],
    ["quota", true, true],
    ["model", true, true],
  ] as const)("after %s: %s; if a duplicate image is accepted: %s", (kind, safely, unsafely) => {
    expect(maySendAgain(kind, false)).toBe(safely);
    expect(maySendAgain(kind, true)).toBe(unsafely);
  });
});

describe("a provider's message for the log", () => {
  const prompt = 'a "red" fox that jumps over a lazy dog';

  it.each([
    ["the whole prompt", `refused: ${prompt}, try again`, "refused: [prompt]"],
    ["the prompt in JSON", `refused: ${JSON.stringify({ prompt })}`, 'refused: {"prompt":"[prompt]'],
    ["the beginning of the prompt", 'refused: a "red" fox that jumps …', "refused: [prompt]"],
    ["a data URL", "bad image data:image/png;base64,iVBORw0KGgo= here", "bad image [data] here"],
    ["base64", `bad image ${"aGVsbG8".repeat(40)}== here`, "bad image [data] here"],
    [
      "neither",
      "The model is being updated: req_0123456789abcdef",
      "The model is being updated: req_0123456789abcdef",
    ],
  ])("without what it quotes: %s", (_, message, expected) => {
    expect(hideContent(message, { prompt })).toBe(expected);
  });

  it("is not changed for a prompt that could be any word", () => {
    expect(hideContent("an error in a request", { prompt: "a" })).toBe("an error in a request");
    expect(hideContent("an error in a request", { prompt: "" })).toBe("an error in a request");
  });
});
