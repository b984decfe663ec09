import { Agent } from "node:http";
import { expect, it, onTestFinished, vi } from "vitest";
import { SEED } from "../support/test-run.js";
import { endTasks, openTaskSite, type TaskSite } from "./open-task-site.js";
import { readLedgerFile } from "./read-ledger-file.js";
import { type PlannedTask, runTaskClient } from "./task-client.js";

/** A server of these tests runs three at the same time. */
const TASKS = 8;

it("a server that gets SIGTERM ends the tasks that it sent, and the next server runs the others", async () => {
  const site = await openTaskSite("charge", SEED);
  onTestFinished(() => site.close());
  site.emulator.faults.add({ latencyMs: 300 });
  const server = await site.startServer();
  await submitAll(site, server.url);
  await untilReceived(site, 3);
  expect(await server.stop()).toBe(0);
  expect(site.emulator.requests).toHaveLength(3);
  const { tasks } = await readLedgerFile(site.ledgerPath);
  expect(tasks.map(({ status }) => status).toSorted()).toEqual([
    ...Array(3).fill("completed"),
    ...Array(TASKS - 3).fill("queued"),
  ]);
  expect(await endTasks(site)).toEqual({ problems: [], counted: { completed: TASKS } });
});

it.each([
  ["release", "0.15"],
  ["charge", "0.24"],
] as const)(
  "a server whose provider hangs gives up at its deadline the tasks that it sent, and the next server runs the others (onLost: %s)",
  async (onLost, settled) => {
    const site = await openTaskSite(onLost, SEED);
    onTestFinished(() => site.close());
    site.emulator.faults.add({ hang: true, times: 3 });
    const server = await site.startServer({ deadlineSeconds: 0.3 });
    await submitAll(site, server.url);
    await untilReceived(site, 3);
    expect(await server.stop()).toBe(0);
    // They are lost at once: no later sweep is needed.
    const { tasks } = await readLedgerFile(site.ledgerPath);
    expect(tasks.filter(({ status }) => status === "failed")).toHaveLength(3);
    expect(await endTasks(site)).toEqual({
      problems: [],
      counted: { completed: TASKS - 3, "failed outcome_unknown": 3 },
    });
    const { balances } = await readLedgerFile(site.ledgerPath);
    expect(balances["shop"]).toEqual({ settled, held: "0" });
  },
);

async function submitAll(site: TaskSite, url: string): Promise<void> {
  const agent = new Agent();
  const options = { nextUrl: () => url, agent, isOver: () => false };
  const clients = Array.from({ length: TASKS }, (_, index) =>
    runTaskClient({ ...PLANNED, name: `close-${index}` }, options),
  );
  site.taskSightings.push(...(await Promise.all(clients)));
  agent.destroy();
}

const PLANNED: Omit<PlannedTask, "name"> = {
  caller: "shop",
  n: 1,
  stream: false,
  hasKey: false,
  follow: "none",
};

async function untilReceived({ emulator }: TaskSite, count: number): Promise<void> {
  await vi.waitFor(() => expect(emulator.requests).toHaveLength(count));
}
