import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { arkUrl, askArk, askDashscope } from "../test-support/ask.js";
import type { Fault } from "./fault.js";

/** The statuses of twenty requests under a fault with probability 0.5. */
async function strike(seed: number): Promise<number[]> {
  const emulator = createEmulator({ seed });
  emulator.faults.add({ status: 500, probability: 0.5 });
  const statuses: number[] = [];
  for (let request = 0; request < 20; request += 1) statuses.push((await askArk(emulator)).status);
  return statuses;
}

describe("faults", () => {
  it("apply in the order they were added, as often as `times` says", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ code: "ServerOverloaded", times: 2 }, { code: "InternalServiceError", times: 1 });
    const statuses = [];
    for (let request = 0; request < 4; request += 1) statuses.push((await askArk(emulator)).status);
    expect(statuses).toEqual([429, 429, 500, 200]);
    expect(emulator.faults.active).toEqual([]);
  });

  it("apply to one provider, one model, or the provider that has the code", async () => {
    const emulator = createEmulator();
    emulator.faults.add(
      { provider: "dashscope", status: 503 },
      { model: "doubao-seedream-4-0-250828", status: 500 },
      { code: "ServerOverloaded" },
    );
    expect((await askDashscope(emulator)).status).toBe(503);
    expect((await askArk(emulator, { model: "doubao-seedream-4-0-250828" })).status).toBe(500);
    expect((await askArk(emulator)).status).toBe(429);
  });

  it("with latency alone are added to other faults", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ latencyMs: 40 }, { status: 500 });
    const startedAt = performance.now();
    expect((await askArk(emulator)).status).toBe(500);
    expect(performance.now() - startedAt).toBeGreaterThan(38);
  });

  it("with a probability apply to the same requests if the seed is the same", async () => {
    const statuses = await strike(7);
    expect(new Set(statuses)).toEqual(new Set([200, 500]));
    expect(await strike(7)).toEqual(statuses);
    expect(await strike(8)).not.toEqual(statuses);
  });

  it.each<[string, Fault, number, string]>([
    ["a status alone", { status: 429 }, 429, "ModelAccountIpmRateLimitExceeded"],
    ["an unlisted status", { status: 502 }, 502, "InternalServiceError"],
    ["an unlisted code", { status: 418, code: "Teapot", message: "Short." }, 418, "Teapot"],
    ["a wrong key", { wrongKey: true }, 401, "AuthenticationError"],
  ])("refuse with %s", async (_name, fault, status, code) => {
    const emulator = createEmulator();
    emulator.faults.add(fault);
    const response = await askArk(emulator);
    expect([response.status, response.body.error.code]).toEqual([status, code]);
  });

  it("apply after the check of the key and before the check of the body", async () => {
    const emulator = createEmulator({ arkApiKeys: ["right"] });
    emulator.faults.add({ status: 500 });
    expect((await askArk(emulator, {}, { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await askArk(emulator, { size: "1x1" }, { authorization: "Bearer right" })).status).toBe(500);
  });

  it("can break the JSON, empty the body, and give a proxy's status", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ malformedJson: true, times: 1 }, { emptyBody: true, status: 404 });
    const broken = await askArk(emulator);
    expect(broken.status).toBe(200);
    expect(broken.text.length).toBeGreaterThan(20);
    expect(() => JSON.parse(broken.text) as unknown).toThrow(SyntaxError);
    expect(await askArk(emulator)).toMatchObject({ status: 404, text: "" });
  });

  it("can hang until the client disconnects", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ hang: true });
    const init = { method: "POST", headers: { authorization: "Bearer k" }, body: "{}" };
    const response = emulator.fetch(new Request(arkUrl, { ...init, signal: AbortSignal.timeout(50) }));
    await expect(response).rejects.toThrow("disconnected");
    expect(emulator.requests).toHaveLength(1);
  });

  it("that hang end when the client disconnects, even after a garbage collection", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    const emulator = createEmulator();
    emulator.faults.add({ hang: true });
    const leave = new AbortController();
    const headers = { authorization: "Bearer k" };
    const response = emulator.fetch(arkUrl, { method: "POST", headers, body: "{}", signal: leave.signal });
    for (let round = 0; round < 5; round += 1) {
      await nextTurn();
      collectGarbage();
    }
    leave.abort();
    await expect(response).rejects.toThrow("disconnected");
  });

  it("end with clear, and with reset", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ status: 500 });
    emulator.faults.clear();
    expect((await askArk(emulator)).status).toBe(200);
    emulator.faults.add({ status: 500 });
    emulator.reset();
    expect((await askArk(emulator)).status).toBe(200);
    expect(emulator.requests).toHaveLength(1);
  });
});
