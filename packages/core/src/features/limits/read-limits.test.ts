import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { createTestGateway } from "../../testing/test-gateway.js";
import type { Caller } from "../../types.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import type { LimitStatus } from "./read-limits.js";
import type { AdmissionStore } from "./store.js";

const SEEDREAM = "seedream-4-5-251128";
const NOW = Date.parse("2026-05-04T10:00:00Z");

const openWith = (admission: AdmissionStore) => createTestGateway(undefined, { admission });

/** A gateway whose caller `shop` has sent two requests, the second for up to three images. */
async function openUsed(caller: Partial<Caller>, options: Partial<GatewayOptions> = {}) {
  const admission = createMemoryAdmissionStore({ now: () => NOW });
  const shop = { id: "shop", key: "shop-key", ...caller };
  const test = { callers: [shop], admission, ...options };
  const { gateway, post } = createTestGateway(undefined, test, { now: () => NOW });
  for (const n of [1, 3]) {
    await post({ model: SEEDREAM, prompt: "a cat", n }, { authorization: "Bearer shop-key" });
  }
  return gateway;
}

const SEEN = { windowSeconds: 60, resetsAt: NOW + 60_000 };

describe("gateway.limits.read", () => {
  it.each<[string, Partial<Caller>, Partial<GatewayOptions>, readonly LimitStatus[]]>([
    ["no limits", {}, {}, []],
    [
      "limits of its own, in place of the gateway's",
      { limits: { requestsPerMinute: 5, imagesPerMinute: 9 } },
      { limits: { requestsPerMinute: 99, concurrent: 2 } },
      [
        { name: "requests", limit: 5, used: 2, remaining: 3, ...SEEN },
        { name: "images", limit: 9, used: 4, remaining: 5, ...SEEN },
        { name: "concurrent", limit: 2, used: 0, remaining: 2 },
      ],
    ],
    ["a lifted limit", { limits: { requestsPerMinute: null } }, { limits: { requestsPerMinute: 9 } }, []],
    [
      "limits for a model",
      {},
      { models: { [SEEDREAM]: { family: "seedream", limits: { requestsPerMinute: 2, concurrent: 4 } } } },
      [
        { name: "requests", model: SEEDREAM, limit: 2, used: 2, remaining: 0, ...SEEN },
        { name: "concurrent", model: SEEDREAM, limit: 4, used: 0, remaining: 4 },
      ],
    ],
    [
      "limits for a model that it may use in another case",
      { models: [SEEDREAM.toUpperCase()] },
      {
        caseInsensitiveNames: true,
        models: { [SEEDREAM]: { family: "seedream", limits: { requestsPerMinute: 2 } } },
      },
      [{ name: "requests", model: SEEDREAM, limit: 2, used: 2, remaining: 0, ...SEEN }],
    ],
    [
      "a limit for a series that it may use in part, and not for other models",
      { models: ["seedream-4-5-251128", "none"], limits: { concurrent: 7 } },
      {
        models: {
          "seedream-*": { family: "seedream", limits: { imagesPerMinute: 8 } },
          "seedream-4-0": { family: "seedream", limits: { imagesPerMinute: 1 } },
        },
      },
      [
        { name: "images", model: "seedream-*", limit: 8, used: 4, remaining: 4, ...SEEN },
        { name: "concurrent", limit: 7, used: 0, remaining: 7 },
      ],
    ],
  ])("shows a caller with %s", async (_what, caller, options, expected) => {
    const gateway = await openUsed(caller, { billing: undefined, ...options });

    expect(await gateway.limits.read({ id: "shop", ...caller })).toEqual(expected);
  });

  it("counts nothing, and shows a new caller with all of its limits", async () => {
    const gateway = await openUsed({ limits: { requestsPerMinute: 5 } });
    const all = { name: "requests", limit: 5, used: 0, remaining: 5, windowSeconds: 60 };
    for (let times = 0; times < 2; times++) {
      expect(await gateway.limits.read({ id: "new", limits: { requestsPerMinute: 5 } })).toEqual([all]);
    }
  });

  it("shows what exceeds a limit that was lowered", async () => {
    const gateway = await openUsed({ limits: { requestsPerMinute: 5 } });
    expect(await gateway.limits.read({ id: "shop", limits: { requestsPerMinute: 1 } })).toMatchObject([
      { limit: 1, used: 2, remaining: 0 },
    ]);
  });

  it("is not known if the store cannot tell, and an error if the store fails", async () => {
    const memory = createMemoryAdmissionStore();
    const blind: AdmissionStore = {
      admit: (request) => memory.admit(request),
      finish: (request, outcome) => memory.finish(request, outcome),
      setCooldown: (channel, cooldown) => memory.setCooldown(channel, cooldown),
    };
    const caller = { id: "shop", limits: { concurrent: 1 } };
    expect(await openWith(blind).gateway.limits.read(caller)).toBeUndefined();
    expect(await openWith(blind).gateway.limits.read({ id: "shop" })).toEqual([]);
    const failing = openWith({ ...blind, readCounts: () => Promise.reject(new Error("host-canary:6379")) });
    const error: unknown = await failing.gateway.limits.read(caller).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "gateway_unavailable", status: 503 });
    expect(String(error)).not.toContain("host-canary");
    expect(failing.logs).toMatchObject([{ fields: { caller: "shop" } }]);
  });
});
