import { describe, expect, it } from "vitest";
import { createClaimedResponses } from "./claimed-answers.js";

const ANSWER = { status: 200, headers: { a: "b" }, body: "12345678" };

describe("createClaimedResponses", () => {
  it("what has lapsed is forgotten in time, and its bytes are given back", () => {
    const claims = createClaimedResponses({ maxResponses: 1_000_000, maxResponseBytes: 1_000_000 });
    let most = 0;
    for (let now = 0; now < 100_000; now++) {
      const claim = { key: String(now), fingerprint: "x", leaseMs: 100 };
      claims.sweep(2, now);
      claims.claim(claim, "id", now);
      if (now % 2 === 0) claims.end(claim, "id", { kind: "keep", answer: ANSWER, ttlMs: 1_000 }, now);
      most = Math.max(most, claims.size);
    }
    // 500 answers and 50 claims are live at any time.
    expect(most).toBeLessThan(700);
    expect(claims.bytes).toBeLessThan(600 * 20);
    claims.sweep(10_000, 200_000);
    claims.sweep(10_000, 200_000);
    expect([claims.size, claims.bytes]).toEqual([0, 0]);
  });

  it("counts two bytes for each character of an answer", () => {
    const claims = createClaimedResponses({ maxResponses: 1, maxResponseBytes: 20 });
    const claim = { key: "a", fingerprint: "x", leaseMs: 100 };
    claims.end(claim, "id", { kind: "keep", answer: ANSWER, ttlMs: 1_000 }, 0);
    expect(claims.bytes).toBe(20);
  });
});
