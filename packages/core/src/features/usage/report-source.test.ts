import { expect, it } from "vitest";
import { composeGateway, usage } from "../../compose.js";
import { seedream } from "../../families/seedream/seedream.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { HistoryLedger } from "./history-store.js";

const SMALL = {
  models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "key" }],
  callers: [{ id: "me", key: "caller-key" }],
};

it("a composed gateway reads reports from another source, although its own ledger has none", async () => {
  const reports = createMemoryLedger() as HistoryLedger;
  const gateway = composeGateway(SMALL, { families: [seedream], features: [usage({ reports })] });
  expect(await gateway.usage.totals("caller")).toEqual([]);
  expect(await gateway.usage.page()).toEqual({ records: [] });
});

it("a source that lacks something is refused when the gateway is composed", () => {
  const incomplete = { ...createMemoryLedger(), history: undefined } as unknown as HistoryLedger;
  const features = [usage({ reports: incomplete })];
  expect(() => composeGateway(SMALL, { families: [seedream], features })).toThrow(/reports must have/);
});
