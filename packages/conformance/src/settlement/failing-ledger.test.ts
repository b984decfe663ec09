import { createMemoryLedger, type GatewayOptions } from "@calotype/core";
import { afterEach, expect, it, vi } from "vitest";
import { readToEnd } from "./clients.js";
import { report } from "./making.js";
import { ONE } from "./row.js";
import { makes } from "./script.js";
import { CALLER, startCase } from "./start-case.js";
import { ALL, toCall, type Way } from "./ways.js";

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  vi.useRealTimers();
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function start(way: Way, options: Partial<GatewayOptions>): Promise<string> {
  const provider = [makes({ images: 1, usage: report(1) })];
  const row = { happened: "", ways: [way], provider, charges: ONE, options: () => options };
  const started = await startCase({ row, way, pricing: "image" });
  cleanUps.push(started.close);
  return started.url;
}

it.each(ALL)(
  "if the ledger never accepts a charge, the client gets its images and the log has the record (%s)",
  async (way) => {
    const ledger = createMemoryLedger();
    const attempts: string[] = [];
    const logged: object[] = [];
    const url = await start(way, {
      ledger: {
        ...ledger,
        async settle({ id }) {
          attempts.push(id);
          throw new Error("The disk is full.");
        },
      },
      logger: { warn: () => undefined, error: (fields) => void logged.push(fields) },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reading = readToEnd(url, toCall(way, 1));
    // All bytes have arrived by then. The gateway only waits between its attempts to settle.
    await vi.waitUntil(() => attempts.length === 1);
    await vi.advanceTimersByTimeAsync(6_000);

    expect(await reading).toEqual({ status: 200, images: 1 });
    expect(attempts).toHaveLength(5);
    expect(logged).toMatchObject([
      { record: { id: attempts[0], caller: CALLER, images: 1, charge: "0.25" } },
    ]);
    expect(await ledger.balance(CALLER)).toEqual({ settled: "0", held: "0.25" });

    expect(await ledger.sweep({ onLost: "charge", own: true })).toMatchObject([
      { id: attempts[0], state: "unresolved", charge: "0.25", held: "0.25" },
    ]);
    expect(await ledger.balance(CALLER)).toEqual({ settled: "0.25", held: "0" });
  },
);
