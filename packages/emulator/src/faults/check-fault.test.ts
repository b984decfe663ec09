import { describe, expect, it } from "vitest";
import { checkFault } from "./check-fault.js";

describe("a fault is refused", () => {
  it.each([
    ["nothing", null, "must be an object"],
    ["a list", [], "must be an object"],
    ["an unknown field", { latency: 5 }, 'no field "latency"'],
    ["a field of every object", { toString: 5 }, 'no field "toString"'],
    ["an unknown provider", { provider: "volcengine" }, '"ark" or "dashscope"'],
    ["times 0", { times: 0 }, '"times" must be a whole number, 1 or more'],
    ["a probability of 2", { probability: 2 }, "from 0 to 1"],
    ["a negative latency", { latencyMs: -1 }, '"latencyMs" must be'],
    ["an endless latency", { latencyMs: Infinity }, '"latencyMs" must be'],
    ["a fraction of a second in Retry-After", { retryAfterSeconds: 0.5 }, "a whole number"],
    ["a status below 200", { status: 100 }, "200 to 599"],
    ["hang as a string", { hang: "yes" }, '"hang" must be true'],
    ["a flag that is false", { omitDone: false }, "true or absent"],
    ["images by number alone", { failImages: [1] }, "{ index, code?, message? }"],
    ["two outcomes", { hang: true, emptyBody: true }, "only one of hang, emptyBody"],
    ["two outcomes of the connection", { hang: true, hangUp: true }, "only one of hang, hangUp"],
    ["a latency longer than timers run", { latencyMs: 2 ** 31 }, '"latencyMs" must be'],
    ["an unknown format", { respondAs: "xml" }, '"respondAs" must be "json" or "stream"'],
    ["an old name", { answerAs: "json" }, '"answerAs" is now called "respondAs"'],
    ["a body that is a number", { body: 5 }, '"body" must be an object'],
    [
      "a field that bodies do not have",
      { body: { cut: 5 } },
      '"body" has no field "cut". Its fields: delayMs,',
    ],
    ["chunks of nothing", { body: { chunkBytes: 0 } }, '"body.chunkBytes" must be a whole number, 1 or more'],
    ["no chunk sizes", { body: { chunkBytes: [] } }, '"body.chunkBytes" must be a list of whole numbers'],
    ["a chunk size of 0 in a list", { body: { chunkBytes: [5, 0] } }, '"body.chunkBytes" must be a list'],
    ["a range upside down", { body: { pauseMs: { min: 5, max: 1 } } }, "or a range { min, max }"],
    ["half a range", { body: { delayMs: { max: 1 } } }, '"body.delayMs" must be'],
    ["a range of more fields", { body: { delayMs: { min: 0, max: 1, step: 1 } } }, '"body.delayMs" must be'],
    ["a cut in the middle of a byte", { body: { cutAfterBytes: 1.5 } }, '"body.cutAfterBytes" must be'],
    ["an unknown line end", { stream: { lineEnd: "\n" } }, '"stream.lineEnd" must be "crlf" or "cr"'],
    ["half a completed", { stream: { completedEvents: 0.5 } }, '"stream.completedEvents" must be'],
    ["a keep-alive without a pause", { stream: { keepAliveMs: 0 } }, '"stream.keepAliveMs" must be'],
    ["usage that is a list", { usage: [] }, '"usage" must be an object of JSON values'],
    ["usage that is not JSON", { usage: { tokens: 1n } }, '"usage" must be an object of JSON values'],
    ["usage with a function", { usage: { tokens: () => 1 } }, '"usage" must be an object of JSON values'],
    ["usage there and not", { usage: {}, omitUsage: true }, "only one of omitUsage, usage"],
    ["an unknown operation", { operation: "delete" }, '"generation" or "edit"'],
    ["a link origin with a path", { linkOrigin: "http://localhost/x" }, "an origin such as"],
    ["an unknown end of a task", { task: { end: "won" } }, '"task.end" must be "failed" or'],
    ["two breaks of a stream", { streamErrorAfterImages: 1, streamErrorAfterEvents: 1 }, "only one of"],
    ["a code of no provider", { code: "Teapot" }, 'Add a "status"'],
  ])("that is %s", (_name, fault, message) => {
    expect(() => checkFault(fault)).toThrow(TypeError);
    expect(() => checkFault(fault)).toThrow(message);
  });
});

describe("a fault is taken", () => {
  it.each([
    [{}],
    [{ provider: undefined, latencyMs: 0.5 }],
    [{ code: "Teapot", status: 418 }],
    [{ failImages: [{ index: 0 }, { index: 2, code: "InternalServiceError", message: "x" }] }],
    [{ body: { delayMs: 0, chunkBytes: [1, 2], pauseMs: { min: 0, max: 5 }, cutAfterBytes: 0 } }],
    [{ body: { chunkBytes: { min: 1, max: 1 } }, stream: undefined }],
    [{ stream: { cutAfterEvents: 1.5, completedEvents: 2, lineEnd: "cr", comments: true, keepAliveMs: 5 } }],
    [{ provider: "openai", type: "insufficient_quota", status: 429, retryAfterMs: 1, shouldRetry: false }],
    [{ task: { runningPolls: 2, end: "moderation", code: "x", message: "y" }, pollOrigin: "http://a:1" }],
    [{ usage: { generated_images: "2", output_tokens: -1, total_tokens: 1e300, extra: { a: null } } }],
  ])("%j", (fault) => {
    expect(checkFault(fault)).toBe(fault);
  });
});
