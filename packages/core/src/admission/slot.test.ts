import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "../http.js";
import { createSpool } from "../images/spool.js";
import { type ByteBudget, createByteBudget } from "./byte-budget.js";
import { createEntrance, createLocalConcurrency, type Entrance } from "./slot.js";

const ME = { id: "me" };

function open(maxBytes = 100): { readonly entrance: Entrance; readonly budget: ByteBudget } {
  const budget = createByteBudget({ maxBytes, maxCallerShare: 0.5, now: () => 0 });
  const spool = createSpool({ memoryBytes: 0, openFile: undefined });
  return { budget, entrance: createEntrance(budget, createLocalConcurrency(), spool) };
}

function request(headers: Record<string, string>): GatewayRequest {
  return {
    method: "POST",
    url: "/v1/images/generations",
    headers: new Headers(headers),
    body: null,
    signal: new AbortController().signal,
  };
}

const sized = (bytes: number): GatewayRequest => request({ "content-length": String(bytes) });

const OVERLOADED = { code: "overloaded", status: 503, retryAfterSeconds: 1 };
const CROWDED = { code: "rate_limit_exceeded", status: 429, retryAfterSeconds: 1 };
const TOO_LARGE = { code: "request_too_large", status: 413 };
const refused = (details: object): unknown => expect.objectContaining(details);

describe("bytes of bodies", () => {
  it("are not reserved, and refuse a body that declares more than there is room for", () => {
    const { entrance, budget } = open();
    for (let idle = 0; idle < 16; idle++) entrance.enter(sized(100), ME);
    expect(budget.inUse).toBe(0);
    const visit = entrance.enter(sized(60), ME);
    visit.bytes.add(60);
    expect(() => entrance.enter(sized(41), ME)).toThrow(refused(OVERLOADED));
    expect(entrance.enter(sized(40), ME)).toBeDefined();
    visit.leave();
    visit.leave();
    expect(budget.inUse).toBe(0);
  });

  it.each([
    ["without a length", {}],
    ["of a length that is no number", { "content-length": "many" }],
    ["of a length below nothing", { "content-length": "-5" }],
    ["of a length in other digits", { "content-length": "1e9" }],
  ])("are not known before a body %s arrives", (_what, headers) => {
    const { entrance } = open();
    entrance.enter(sized(100), ME).bytes.add(100);
    expect(entrance.enter(request(headers), ME)).toBeDefined();
  });

  it("that are more than the whole budget are too large, and not to be tried again", () => {
    const { entrance, budget } = open();
    expect(() => entrance.enter(sized(101), ME)).toThrow(refused(TOO_LARGE));
    expect(() => entrance.enter(request({ "content-length": "9".repeat(400) }), ME)).toThrow(
      refused(TOO_LARGE),
    );
    expect(budget.inUse).toBe(0);
  });

  it("are given back when the answer is there, and count no more", () => {
    const { entrance, budget } = open();
    const visit = entrance.enter(sized(60), ME);
    visit.bytes.addAnyway(500);
    visit.bytes.giveBack();
    visit.bytes.addAnyway(500);
    visit.leave();
    expect(budget.inUse).toBe(0);
  });
});

describe("places of a caller", () => {
  it("are as many as it may have, for each caller", () => {
    const { entrance } = open();
    const two = { id: "me", concurrent: 2 };
    const first = entrance.enter(sized(1), two);
    entrance.enter(sized(1), two);
    expect(() => entrance.enter(sized(1), two)).toThrow(refused(CROWDED));
    expect(entrance.enter(sized(1), { id: "you", concurrent: 1 })).toBeDefined();
    first.leave();
    first.leave();
    expect(entrance.enter(sized(1), two)).toBeDefined();
    expect(() => entrance.enter(sized(1), two)).toThrow(refused(CROWDED));
  });

  it.each([undefined, null])("are without number where the limit is %s", (concurrent) => {
    const { entrance } = open(1_000);
    const enter = (): unknown => entrance.enter(sized(1), { id: "me", concurrent });
    for (let entered = 0; entered < 999; entered++) enter();
    expect(enter).not.toThrow();
  });

  it("say in the headers which limit is reached", () => {
    const { entrance } = open();
    const one = { id: "me", concurrent: 1 };
    entrance.enter(sized(1), one);
    expect(() => entrance.enter(sized(1), one)).toThrow(
      refused({
        headers: {
          "ratelimit-policy": '"concurrent";q=1;qu="concurrent-requests"',
          ratelimit: '"concurrent";r=0',
        },
      }),
    );
  });

  it("are not kept by a request that is refused for its bytes", () => {
    const { entrance } = open();
    const one = { id: "me", concurrent: 1 };
    const other = entrance.enter(sized(100), { id: "you" });
    other.bytes.add(100);
    expect(() => entrance.enter(sized(1), one)).toThrow(refused(OVERLOADED));
    expect(() => entrance.enter(sized(101), one)).toThrow(refused(TOO_LARGE));
    other.leave();
    expect(entrance.enter(sized(1), one)).toBeDefined();
  });

  it.each(["__proto__", "constructor", "", "x".repeat(1_048_576)])(
    "belong to callers of any name: %#",
    (id) => {
      const { entrance } = open();
      const visit = entrance.enter(sized(1), { id, concurrent: 1 });
      expect(() => entrance.enter(sized(1), { id, concurrent: 1 })).toThrow(refused(CROWDED));
      visit.leave();
      expect(entrance.enter(sized(1), { id, concurrent: 1 })).toBeDefined();
    },
  );
});

describe("createLocalConcurrency", () => {
  it("lets so many of one caller in, and the next once one has left", () => {
    const inside = createLocalConcurrency();
    inside.enter("me", 2);
    inside.enter("me", 2);
    expect(inside.enter("me", 2)).toBe(false);
    expect(inside.enter("you", 2)).toBe(true);
    inside.leave("me");
    expect(inside.enter("me", 2)).toBe(true);
    expect(inside.enter("me", 2)).toBe(false);
  });
});
