import { describe, expect, it, vi } from "vitest";
import { createOwnCrowdedError } from "../features/limits/rate-limit-headers.js";
import type { GatewayRequest } from "../http.js";
import { createSpool } from "../images/spool.js";
import { type ByteBudget, createByteBudget } from "./byte-budget.js";
import { createSlots, type TakeSlot } from "./slot.js";

const ME = { id: "me" };
function open(maxBytes = 100): { readonly takeSlot: TakeSlot; readonly budget: ByteBudget } {
  const budget = createByteBudget({ maxBytes, maxCallerShare: 0.5, now: () => 0 });
  const spool = createSpool({ memoryBytes: 0, openFile: undefined });
  return { budget, takeSlot: createSlots(budget, spool, createOwnCrowdedError) };
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
  it("are not reserved; a body that declares more bytes than are free is refused", () => {
    const { takeSlot, budget } = open();
    for (let idle = 0; idle < 16; idle++) takeSlot(sized(100), ME);
    expect(budget.inUse).toBe(0);
    const slot = takeSlot(sized(60), ME);
    slot.bytes.add(60);
    expect(() => takeSlot(sized(41), ME)).toThrow(refused(OVERLOADED));
    expect(takeSlot(sized(40), ME)).toBeDefined();
    slot.release();
    slot.release();
    expect(budget.inUse).toBe(0);
  });

  it.each([
    ["without a length", {}],
    ["of a length that is not a number", { "content-length": "many" }],
    ["of a length below nothing", { "content-length": "-5" }],
    ["of a length in other digits", { "content-length": "1e9" }],
  ])("do not count before a body %s arrives", (_what, headers) => {
    const { takeSlot } = open();
    takeSlot(sized(100), ME).bytes.add(100);
    expect(takeSlot(request(headers), ME)).toBeDefined();
  });

  it("of a form that is still read after its slot was released are not kept", async () => {
    const budget = createByteBudget({ maxBytes: 1_000_000, maxCallerShare: 1, now: () => 0 });
    const openFile = vi.fn<() => Promise<never>>(() => Promise.reject(new Error("It must not be opened.")));
    const slot = createSlots(
      budget,
      createSpool({ memoryBytes: 0, openFile }),
      createOwnCrowdedError,
    )(request({}), ME);
    slot.release();
    await slot.spool.begin().write(new Uint8Array(300_000));
    expect(openFile).not.toHaveBeenCalled();
  });

  it("of more than the whole budget are refused with 413", () => {
    const { takeSlot, budget } = open();
    expect(() => takeSlot(sized(101), ME)).toThrow(refused(TOO_LARGE));
    expect(() => takeSlot(request({ "content-length": "9".repeat(400) }), ME)).toThrow(refused(TOO_LARGE));
    expect(budget.inUse).toBe(0);
  });

  it("no longer count after their release", () => {
    const { takeSlot, budget } = open();
    const slot = takeSlot(sized(60), ME);
    slot.bytes.addAnyway(500);
    slot.bytes.release();
    slot.bytes.addAnyway(500);
    slot.release();
    expect(budget.inUse).toBe(0);
  });
});

describe("the slots of a caller", () => {
  it("are limited for each caller separately", () => {
    const { takeSlot } = open();
    const two = { id: "me", concurrent: 2 };
    const first = takeSlot(sized(1), two);
    takeSlot(sized(1), two);
    expect(() => takeSlot(sized(1), two)).toThrow(refused(CROWDED));
    expect(takeSlot(sized(1), { id: "you", concurrent: 1 })).toBeDefined();
    first.release();
    first.release();
    expect(takeSlot(sized(1), two)).toBeDefined();
    expect(() => takeSlot(sized(1), two)).toThrow(refused(CROWDED));
  });

  it.each([undefined, null])("are not limited if the limit is %s", (concurrent) => {
    const { takeSlot } = open(1_000);
    const enter = (): unknown => takeSlot(sized(1), { id: "me", concurrent });
    for (let entered = 0; entered < 999; entered++) enter();
    expect(enter).not.toThrow();
  });

  it("are named in the headers of the refusal", () => {
    const { takeSlot } = open();
    const one = { id: "me", concurrent: 1 };
    takeSlot(sized(1), one);
    expect(() => takeSlot(sized(1), one)).toThrow(
      refused({
        headers: {
          "ratelimit-policy": '"concurrent";q=1;qu="concurrent-requests"',
          ratelimit: '"concurrent";r=0',
        },
      }),
    );
  });

  it("stay free when a request is refused because of its bytes", () => {
    const { takeSlot } = open();
    const one = { id: "me", concurrent: 1 };
    const other = takeSlot(sized(100), { id: "you" });
    other.bytes.add(100);
    expect(() => takeSlot(sized(1), one)).toThrow(refused(OVERLOADED));
    expect(() => takeSlot(sized(101), one)).toThrow(refused(TOO_LARGE));
    other.release();
    expect(takeSlot(sized(1), one)).toBeDefined();
  });

  it.each(["__proto__", "constructor", "", "x".repeat(1_048_576)])(
    "belong to callers with any id: %#",
    (id) => {
      const { takeSlot } = open();
      const slot = takeSlot(sized(1), { id, concurrent: 1 });
      expect(() => takeSlot(sized(1), { id, concurrent: 1 })).toThrow(refused(CROWDED));
      slot.release();
      expect(takeSlot(sized(1), { id, concurrent: 1 })).toBeDefined();
    },
  );
});
