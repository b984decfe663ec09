import type { AdmissionRequest } from "@calotype/core/stores";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLeaseRenewal, type LeaseRenewalOptions } from "./renew-leases.js";

const LEASE_MS = 6_000;
const OWN_LEASE_MS = 60_000;

function requestOf(id: string, caller = "me", leaseMs = OWN_LEASE_MS): AdmissionRequest {
  return { id, caller, windows: [], concurrency: [{ key: "slot", limit: 1, leaseMs }], channels: [] };
}

function open(renew: LeaseRenewalOptions["renew"] = async () => undefined) {
  /** The ids of each call. */
  const calls: string[][] = [];
  const renewal = createLeaseRenewal({
    leaseMs: LEASE_MS,
    async renew(caller, batch) {
      calls.push(batch.map(({ request }) => request.id));
      await renew(caller, batch);
    },
  });
  return { renewal, calls };
}

describe("leases", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("are renewed by one timer after a third to a half of their time, until their request ends", async () => {
    const { renewal, calls } = open();
    const [first, second] = [requestOf("first"), requestOf("second")];
    renewal.begin(first);
    await vi.advanceTimersByTimeAsync(500);
    renewal.begin(second);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1_499);
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(calls).toEqual([["first"]]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(calls).toEqual([["first"], ["second"]]);
    renewal.end(first);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(calls).toEqual([["first"], ["second"], ["second"]]);
    renewal.end(second);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are renewed for no longer than their request may run, and not at all for short requests", async () => {
    const { renewal, calls } = open();
    renewal.begin(requestOf("short", "me", LEASE_MS));
    expect(vi.getTimerCount()).toBe(0);
    renewal.begin(requestOf("never ended"));
    await vi.advanceTimersByTimeAsync(OWN_LEASE_MS);
    expect(new Set(calls.flat())).toEqual(new Set(["never ended"]));
    expect(vi.getTimerCount()).toBe(0);
  });

  it("are renewed at the next tick of the timer after a failure", async () => {
    let isThere = false;
    const { renewal, calls } = open(async () => {
      if (!isThere) throw new Error("Redis is away.");
    });
    renewal.begin(requestOf("a"));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(calls).toHaveLength(2);
    isThere = true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(calls).toHaveLength(3);
  });

  it("are renewed in batches of one caller, without requests that ended in the meantime", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { renewal, calls } = open(() => promise);
    for (let index = 0; index < 20; index++) renewal.begin(requestOf(`${index}`, `caller ${index}`));
    for (let index = 0; index < 450; index++) renewal.begin(requestOf(`of me ${index}`));
    renewal.renewAll();
    renewal.renewAll();
    expect(calls.map(({ length }) => length)).toEqual(Array(16).fill(1));
    renewal.end(requestOf("19", "caller 19"));
    resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(calls.slice(16).map(({ length }) => length)).toEqual([1, 1, 1, 200, 200, 50]);
  });
});
