import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect, it } from "vitest";
import { createRedisAdmissionStore } from "./create-redis-admission-store.js";

/** Never connected. */
const client = new Redis({ lazyConnect: true });

describe("createRedisAdmissionStore", () => {
  it.each([
    ["nothing", undefined],
    ["an address", "redis://127.0.0.1:6379"],
    ["something else", { get: () => null }],
  ])("refuses %s for a client", (_what, wrong) => {
    expect(() => createRedisAdmissionStore({ client: wrong as never })).toThrow(/client must be/);
  });

  it("takes a client of either package", () => {
    for (const one of [client, createClient()]) {
      expect(Object.keys(createRedisAdmissionStore({ client: one }))).toEqual([
        "admit",
        "finish",
        "setCooldown",
      ]);
    }
  });

  it.each([
    [{ prefix: "a{b}" }, /prefix must be/],
    [{ prefix: 1 }, /prefix must be/],
    [{ deadlineMs: 0 }, /deadlineMs must be a number from 10 to 60000, not 0/],
    [{ deadlineMs: Number.NaN }, /deadlineMs/],
    [{ deadlineMs: "1000" }, /deadlineMs/],
    [{ leaseSeconds: 0 }, /leaseSeconds must be a number from 1 to 3600, not 0/],
    [{ leaseSeconds: Number.POSITIVE_INFINITY }, /leaseSeconds/],
    [{ maxResponseBytes: -1 }, /maxResponseBytes/],
    [{ whenAway: "ajar" }, /whenAway must be "open", "closed"/],
    [{ whenAway: null }, /whenAway/],
    [{ whenAway: { limits: "ajar" } }, /whenAway/],
    [{ whenAway: { limit: "open" } }, /whenAway/],
  ])("refuses %j", (options, message) => {
    expect(() => createRedisAdmissionStore({ client, ...(options as object) })).toThrow(message);
  });
});
