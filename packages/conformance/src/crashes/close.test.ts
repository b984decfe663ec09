import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import type { ServerProcess } from "../support/spawn-server.js";
import { SEED } from "../support/test-run.js";
import { callServer, promptOf, type Sighting } from "./call-server.js";
import { findProblems, readPrompts } from "./find-problems.js";
import type { Site } from "./open-site.js";
import { openTestSite } from "./open-test-site.js";
import { byId, readLedgerFile, readSink } from "./read-ledger-file.js";
import { createRandom } from "./seeded-random.js";
import { startLoad } from "./start-load.js";

it("a server that gets SIGTERM under load finishes the requests that it accepted", async () => {
  const site = await openTestSite("release", SEED);
  site.emulator.faults.add({ latencyMs: 60, probability: 0.5 });
  const server = await site.startServer();
  const load = startLoad(server.url, "closing", createRandom(SEED));
  await untilReceived(site, 30);
  expect(await server.stop()).toBe(0);
  site.sightings.push(...(await load.stop()));

  const content = await readLedgerFile(site.ledgerPath);
  expect(findProblems(site, content)).toEqual([]);
  expect(content.records.filter(({ state }) => state === "unresolved")).toEqual([]);
  const prompts = readPrompts(site);
  const cut = site.sightings.filter(
    ({ end, leaveAfterMs }) => end === undefined && leaveAfterMs === undefined,
  );
  expect(cut.filter((call) => prompts.has(promptOf(call)))).toEqual([]);
  expect(readSink(site.sinkPath)).toEqual(byId(content.records));
  expect(server.errors()).toEqual([]);
});

it.each([
  ["release", "0"],
  ["charge", "0.54"],
] as const)(
  "a server whose provider hangs ends after its deadline, with unresolved records (onLost: %s)",
  async (onLost, settled) => {
    const site = await openTestSite(onLost, SEED);
    // Some requests wait for their response, some are in the middle of it.
    site.emulator.faults.add({ hang: true, times: 3 }, { body: { chunkBytes: 100, pauseMs: 60_000 } });
    const server = await site.startServer({ deadlineSeconds: 0.3 });
    const calls = [1, 2, 3, 4, 5, 6].map((count) => callForImages(server, count, count % 2 === 0));
    await untilReceived(site, calls.length);
    expect(await msOf(server.stop())).toBeLessThan(5_000);
    await Promise.all(calls);

    const { records, balances } = await readLedgerFile(site.ledgerPath);
    expect(records.map(({ state, charge }) => [state, charge])).toEqual(
      calls.map(() => ["unresolved", onLost === "charge" ? "0.09" : "0"]),
    );
    expect(balances["shop"]).toEqual({ settled, held: "0" });
    expect(readSink(site.sinkPath)).toEqual(byId(records));
    expect(server.errors()).toEqual([]);
  },
);

it("a client gets a complete response only if it is settled, even if onUsage is slow", async () => {
  const site = await openTestSite("release", SEED);
  const server = await site.startServer({ deadlineSeconds: 0.1, sinkMs: 700 });
  await callForImages(server, 1);
  site.emulator.faults.add({ latencyMs: 400 });
  const calls = [2, 3, 4].map((count) => callForImages(server, count));
  await untilReceived(site, 4);
  expect(await server.stop()).toBe(0);

  const { records } = await readLedgerFile(site.ledgerPath);
  const settled = new Set(records.filter(({ state }) => state === "settled").map(({ id }) => id));
  for (const { id = "", end } of await Promise.all(calls)) {
    expect(settled.has(id)).toBe(end?.status === 200);
  }
  expect(readSink(site.sinkPath)).toEqual(byId(records));
});

function callForImages({ url }: ServerProcess, count: number, stream = false): Promise<Sighting> {
  return callServer(url, { name: `images-${count}`, caller: "shop", n: 3, stream }, new Agent());
}

async function untilReceived({ emulator }: Site, count: number): Promise<void> {
  await vi.waitFor(() => expect(emulator.requests.length).toBeGreaterThanOrEqual(count));
  // Some responses are still in transfer.
  await sleep(30);
}

/** Ends the server, checks that its exit code is 0, and returns the time that it took. */
async function msOf(stopped: Promise<number | null>): Promise<number> {
  const startedAt = performance.now();
  expect(await stopped).toBe(0);
  return performance.now() - startedAt;
}
