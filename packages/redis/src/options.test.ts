import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect, it } from "vitest";
import { createRedisAdmissionStore } from "./store.js";

/** It is never connected. */
const client = new Redis({ lazyConnect: true });

describe("createRedisAdmissionStore", () => {
  it.each([
    ["no value", undefined],
    ["an address", "redis://127.0.0.1:6379"],
    ["something else", { get: () => null }],
  ])("refuses %s as a client", (_what, wrong) => {
    expect(() => createRedisAdmissionStore({ client: wrong as never })).toThrow(/client must be/);
  });

  it("accepts a client of either package", () => {
    for (const one of [client, createClient()]) {
      expect(Object.keys(createRedisAdmissionStore({ client: one }))).toEqual([
        "admit",
        "admitInTurn",
        "giveUpTurn",
        "finish",
        "readCounts",
        "ping",
        "setCooldown",
        "setPause",
      ]);
    }
  });

  it.each([
    [{ prefix: "a{b}" }, /prefix must be/],
    [{ prefix: 1 }, /prefix must be/],
    [{ deadlineSeconds: 0 }, /deadlineSeconds must be a number from 0.01 to 60, not 0/],
    [{ deadlineSeconds: Number.NaN }, /deadlineSeconds/],
    [{ deadlineSeconds: "1" }, /deadlineSeconds/],
    [{ deadlineMs: 500 }, /deadlineMs is not an option any more: set deadlineSeconds, in seconds/],
    [{ maxAnswerBytes: 1_000 }, /maxAnswerBytes is not an option any more: set maxResponseBytes/],
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
