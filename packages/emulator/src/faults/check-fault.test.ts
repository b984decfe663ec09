import { describe, expect, it } from "vitest";
import { checkFault } from "./check-fault.js";

describe("a fault is refused", () => {
  it.each([
    ["nothing", null, "must be an object"],
    ["a list", [], "must be an object"],
    ["an unknown field", { latency: 5 }, 'no field "latency"'],
    ["a field of every object", { toString: 5 }, 'no field "toString"'],
    ["an unknown provider", { provider: "openai" }, '"ark" or "dashscope"'],
    ["times 0", { times: 0 }, '"times" must be a whole number, 1 or more'],
    ["a probability of 2", { probability: 2 }, "from 0 to 1"],
    ["a negative latency", { latencyMs: -1 }, '"latencyMs" must be'],
    ["an endless latency", { latencyMs: Infinity }, '"latencyMs" must be'],
    ["a fraction of a second in Retry-After", { retryAfterSeconds: 0.5 }, "a whole number"],
    ["a status below 200", { status: 100 }, "200 to 599"],
    ["hang as text", { hang: "yes" }, '"hang" must be true'],
    ["a flag that is false", { omitDone: false }, "true or absent"],
    ["images by number alone", { failImages: [1] }, "{ index, code?, message? }"],
    ["two outcomes", { hang: true, emptyBody: true }, "only one of hang, emptyBody"],
    ["a code that nobody has", { code: "Teapot" }, 'give a "status"'],
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
  ])("%j", (fault) => {
    expect(checkFault(fault)).toBe(fault);
  });
});
