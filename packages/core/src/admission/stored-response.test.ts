import { describe, expect, it } from "vitest";
import type { GatewayResponse } from "../http.js";
import { renderReplay, toStoredResponse } from "./stored-response.js";

const ANSWER = {
  status: 502,
  headers: {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": "first",
    "x-should-retry": "false",
    "x-calotype-ignored": "style",
    "retry-after": "5",
    "ratelimit-policy": '"requests";q=600;w=60',
    ratelimit: '"requests";r=599;t=42',
    "x-ratelimit-reset-requests": "1s",
  },
  body: '{"data":[]}',
} satisfies GatewayResponse;

describe("toStoredResponse and renderReplay", () => {
  it("give the answer again, without what was true of the first exchange only", () => {
    const stored = toStoredResponse(ANSWER, 1_000);
    expect(stored && renderReplay(stored, "second")).toEqual({
      status: 502,
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-request-id": "second",
        "x-calotype-original-request-id": "first",
        "x-should-retry": "false",
        "x-calotype-ignored": "style",
        "idempotent-replayed": "true",
      },
      body: '{"data":[]}',
    });
  });

  it("keep bytes as the text that they are", () => {
    const body = new TextEncoder().encode('{"prompt":"猫"}');
    expect(toStoredResponse({ ...ANSWER, body }, 1_000)?.body).toBe('{"prompt":"猫"}');
  });

  it.each([
    ["a text", "猫猫猫"],
    ["bytes", new TextEncoder().encode("猫猫猫")],
  ])("%s is kept up to the last byte, and not past it", (_, body) => {
    expect(toStoredResponse({ ...ANSWER, body }, 9)?.body).toBe("猫猫猫");
    expect(toStoredResponse({ ...ANSWER, body }, 8)).toBeUndefined();
  });

  it("nothing of a stream is kept", () => {
    const body = (async function* () {})();
    expect(toStoredResponse({ ...ANSWER, body }, 1_000)).toBeUndefined();
    const headers = { "content-type": "text/event-stream" };
    expect(toStoredResponse({ status: 200, headers, body: "" }, 1_000)).toBeUndefined();
  });
});
