import { describe, expect, it, vi } from "vitest";
import type { GatewayResponse, GatewayResponseBody } from "../http.js";
import { releaseAfterBody } from "./release-after-body.js";

const SMALL = "x".repeat(256 * 1024 - 1);
const LARGE = "x".repeat(256 * 1024);
/** Two bytes a character. */
const WIDE = "ä".repeat(256 * 1024);

const responseWith = (body: GatewayResponseBody): GatewayResponse => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body,
});

function open(body: GatewayResponseBody) {
  const done = vi.fn<() => void>();
  const response = releaseAfterBody(responseWith(body), { release: done });
  if (typeof response.body === "string" || response.body instanceof Uint8Array) {
    throw new Error("The body is not produced.");
  }
  return { done, response, chunks: response.body[Symbol.asyncIterator](), body: response.body };
}

describe("a small body", () => {
  it.each<[string, GatewayResponseBody]>([
    ["a text", SMALL],
    ["bytes", new Uint8Array(10)],
    ["an empty text", ""],
  ])("is released at once, and stays unchanged: %s", (_what, body) => {
    const done = vi.fn<() => void>();
    const response = responseWith(body);
    expect(releaseAfterBody(response, { release: done })).toBe(response);
    expect(done).toHaveBeenCalledTimes(1);
  });
});

describe("a large body", () => {
  it.each<[string, string | Uint8Array<ArrayBuffer>, number]>([
    ["a text", LARGE, 256 * 1024],
    ["a text of wide characters", WIDE, 512 * 1024],
    ["bytes", new TextEncoder().encode(LARGE), 256 * 1024],
  ])("is complete, with its length in bytes: %s", async (_what, body, length) => {
    const { response, body: produced } = open(body);
    expect(response.headers).toEqual({
      "content-type": "application/json",
      "content-length": String(length),
    });
    const parts: Uint8Array[] = [];
    for await (const part of produced) parts.push(part);
    const whole = Buffer.concat(parts);
    expect(whole.length).toBe(length);
    expect(whole.equals(Buffer.from(body))).toBe(true);
  });

  it("is not released until it was read", async () => {
    const { done, chunks } = open(LARGE);
    await chunks.next();
    expect(done).not.toHaveBeenCalled();
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
    expect(done).toHaveBeenCalled();
  });

  it("is released if the host ends it before it began, and yields nothing afterwards", async () => {
    const { done, chunks } = open(LARGE);
    await chunks.return?.();
    expect(done).toHaveBeenCalled();
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it("is released if the host ends it while it is written", async () => {
    const { done, body } = open(LARGE);
    for await (const part of body) {
      expect(part.length).toBeGreaterThan(0);
      break;
    }
    expect(done).toHaveBeenCalled();
  });

  it("may be ended twice, and after its end", async () => {
    const { done, chunks } = open(LARGE);
    await chunks.next();
    await chunks.next();
    await chunks.return?.();
    await chunks.return?.();
    expect(done).toHaveBeenCalled();
  });
});
