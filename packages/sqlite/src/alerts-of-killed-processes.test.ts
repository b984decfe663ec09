import { createGateway, type GatewayOptions } from "@calotype/core";
import { expect, it, vi } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

it("an alert whose process was killed before its delivery is delivered by the next process, once", async () => {
  const path = temporaryFile();
  const { child, lines } = spawnSource("die-at-alert.ts", [path]);
  expect(await lines).toEqual([]);
  expect(child.signalCode).toBe("SIGKILL");

  // After the lease of the killed process.
  let aheadMs = 31_000;
  const ledger = createSqliteLedger({ path, now: () => Date.now() + aheadMs });
  const onBudget = vi.fn<NonNullable<GatewayOptions["onBudget"]>>();
  const gateway = createGateway({
    models: { image: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "unused" }],
    callers: [],
    ledger,
    onBudget,
  });
  gateway.start();
  await vi.waitFor(() => expect(onBudget).toHaveBeenCalledTimes(1));
  expect(onBudget.mock.calls[0]?.[0]).toMatchObject({
    caller: "me",
    threshold: 50,
    budget: "2",
    settled: "1",
  });
  await gateway.close();
  aheadMs += 3_600_000;
  expect(await ledger.outbox.lease("alert", { limit: 10, leaseMs: 1 })).toEqual([]);
  await ledger.close();
});
