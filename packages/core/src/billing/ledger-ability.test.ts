import { expect, it } from "vitest";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import { TASK_STORE } from "../features/task-store/task-store.js";
import { createTestGateway } from "../testing/test-gateway.js";
import { findAbility } from "./ledger-ability.js";
import { createMinimalLedger } from "./minimal-ledger.js";

it.each([undefined, null, [], {}, "tasks", () => {}, { find: () => {} }])(
  "does not take %j for a task store",
  (tasks) => {
    expect(findAbility({ ...createMemoryLedger(), tasks }, TASK_STORE)).toBeUndefined();
  },
);

it("a gateway runs with a ledger that keeps the money alone, without what needs an ability", async () => {
  const ledger = createMinimalLedger();
  const { gateway, post } = createTestGateway(undefined, {
    ledger,
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
  });
  const { status } = await post({ model: "doodle", prompt: "a fox" }, { prefer: "respond-async" });

  expect(status).toBe(200);
  expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
  for (const report of [() => gateway.usage.totals("day"), () => gateway.usage.find("req_1")])
    await expect(report()).rejects.toMatchObject({ code: "no_totals" });
  expect(() => createTestGateway(undefined, { ledger, onBudget: () => undefined })).toThrow(
    "counts by period",
  );
});
