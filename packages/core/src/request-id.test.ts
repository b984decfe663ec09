import { describe, expect, it } from "vitest";
import { createRequestId } from "./events.js";

describe("a request id", () => {
  const ids = Array.from({ length: 10_000 }, createRequestId);

  it("is req_ and 32 hexadecimal digits", () => {
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it("is unique", () => {
    expect(new Set(ids).size).toBe(ids.length);
  });
});
