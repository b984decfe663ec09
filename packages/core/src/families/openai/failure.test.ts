import { describe, expect, it } from "vitest";
import { createFailureReader, OPENAI_CODES, readError } from "./failure.js";

const toFailure = createFailureReader(OPENAI_CODES);

function readWith(headers: Record<string, string>, status = 429) {
  return toFailure({ status, headers: new Headers(headers), body: {} });
}

describe("how long to wait", () => {
  it.each<[Record<string, string>, number | undefined]>([
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" }, 360],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms" }, 1],
    [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m3.5s" }, 3_724],
    [{ "x-ratelimit-remaining-requests": "5", "x-ratelimit-reset-requests": "6m0s" }, undefined],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon" }, undefined],
    [
      {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "2s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "9s",
      },
      9,
    ],
    [
      { "retry-after": "7", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" },
      undefined,
    ],
    [{}, undefined],
  ])("is read from %j as %s", (headers, seconds) => {
    expect(readWith(headers).retryAfterSeconds).toBe(seconds);
  });

  it("is read of a limit only", () => {
    const headers = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" };
    expect(readWith(headers, 503).retryAfterSeconds).toBeUndefined();
  });
});

describe("x-should-retry", () => {
  it.each([
    [429, "false", "quota"],
    [429, "true", "rate"],
    [503, "false", "server"],
    [503, "true", "overload"],
    [500, "true", "server"],
    [400, "true", "content"],
  ])("of %d with %s gives %s", (status, value, kind) => {
    expect(readWith({ "x-should-retry": value }, status).kind).toBe(kind);
  });
});

it("the request id of a message is read", () => {
  const message = "Rejected. Contact us and include the request ID req_12ab. safety_violations=[violence].";
  const body = { error: { code: "moderation_blocked", message } };
  expect(toFailure({ status: 400, headers: new Headers(), body })).toMatchObject({ requestId: "req_12ab" });
});

describe("an error body", () => {
  it.each([
    [
      { error: { code: "a", type: "b", message: "c", param: "d" } },
      { code: "a", type: "b", message: "c", param: "d" },
    ],
    [{ error: { code: 402, message: "c" } }, { code: "402", message: "c" }],
    [{ error: { code: null, message: "c", param: "" } }, { message: "c" }],
    [
      { code: "a", error: "c" },
      { code: "a", message: "c" },
    ],
    [
      { code: 20012, message: "c", data: null },
      { code: "20012", message: "c" },
    ],
    [{}, {}],
    [{ error: null }, {}],
  ])("%j is read", (body, error) => {
    expect(readError(body)).toEqual(error);
  });
});
