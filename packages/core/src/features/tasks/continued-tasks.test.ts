import { expect, it } from "vitest";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  cutOffWhenPolled,
  DONE,
  GONE,
  isSubmission,
  openDarkroom,
  openWaitingDarkroom,
  until,
} from "../../testing/open-darkroom.js";
import type { TestGateway } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";

/** Submits a task, and cuts the gateway off when the provider has been polled. */
async function cutOff(
  ledger: GatewayOptions["ledger"],
  fields: object = {},
): Promise<{ id: string; first: TestGateway }> {
  const first = openWaitingDarkroom(ledger);
  const { status, body } = await first.post(
    { model: "film", prompt: "p", ...fields },
    { prefer: "respond-async" },
  );
  expect(status).toBe(202);
  await cutOffWhenPolled(first);
  return { id: String(body["id"]), first };
}

async function findTask(ledger: ReturnType<typeof createMemoryLedger>, id: string) {
  return await ledger.tasks.find("me", id);
}

it("a task that a process left behind is completed by the next one, and not sent again", async () => {
  const ledger = createMemoryLedger();
  const { id, first } = await cutOff(ledger);
  expect(await findTask(ledger, id)).toMatchObject({ status: "in_progress" });
  const next = openDarkroom(ledger, () => Response.json(DONE));
  next.gateway.start();
  await until(async () => (await findTask(ledger, id))?.status !== "in_progress");

  expect(await findTask(ledger, id)).toMatchObject({ status: "completed" });
  expect(next.calls.map(({ url }) => url)).toEqual(["https://darkroom.test/v1/jobs/t1"]);
  expect(first.calls.filter(({ url }) => isSubmission(url))).toHaveLength(1);
  await next.gateway.close();
  expect(next.records).toMatchObject([{ images: 1, charge: "0.1", upstreamRequestId: "t1" }]);
  expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
});

it("of several images, each task is continued, and what was not accepted is not sent", async () => {
  const ledger = createMemoryLedger();
  const { id } = await cutOff(ledger, { n: 3 });
  const next = openDarkroom(ledger, () => Response.json(DONE));
  next.gateway.start();
  await until(async () => (await findTask(ledger, id))?.status !== "in_progress");

  expect(JSON.parse((await findTask(ledger, id))?.result ?? "")).toBeDefined();
  expect(next.calls.map(({ url }) => url).toSorted()).toEqual(
    ["t1", "t2", "t3"].map((job) => `https://darkroom.test/v1/jobs/${job}`),
  );
  await next.gateway.close();
  expect(next.records).toMatchObject([{ images: 3, charge: "0.3" }]);
});

it.each(Object.entries(GONE))(
  "a task whose %s is gone fails, and its money follows onLost",
  async (_name, options) => {
    const ledger = createMemoryLedger();
    const { id } = await cutOff(ledger);
    const next = openDarkroom(ledger, () => Response.json(DONE), options);
    next.gateway.start();
    await until(async () => (await findTask(ledger, id))?.status !== "in_progress");

    expect(await findTask(ledger, id)).toMatchObject({ status: "failed" });
    expect(next.calls).toEqual([]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0" });
    await next.gateway.close();
  },
);
