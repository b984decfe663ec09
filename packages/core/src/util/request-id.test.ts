import { describe, expect, it } from "vitest";
import { createRequestId } from "./request-id.js";

describe("a request's id", () => {
  const ids = Array.from({ length: 10_000 }, createRequestId);

  it("has one form", () => {
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it("comes once, also past the chance that is drawn at once", () => {
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("has every digit at every place", () => {
    for (let place = "req_".length; place < 36; place++) {
      expect(new Set(ids.map((id) => id[place])).size).toBe(16);
    }
  });
});
