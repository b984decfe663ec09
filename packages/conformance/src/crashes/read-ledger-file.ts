import { readFileSync } from "node:fs";
import type { Balance, UsageRecord } from "@calotype/core/billing";
import type { OutboxLedger, Task, TaskLedger, TaskStore, WebhookMessage } from "@calotype/core/stores";
import { createSqliteLedger } from "@calotype/sqlite";
import { readRecords } from "../ledger-suite/read-ledger.ts";
import { CALLERS } from "./server-plan.ts";

/** The content of a ledger file. */
export interface LedgerContent {
  readonly records: readonly UsageRecord[];
  /** By the caller's id. */
  readonly balances: Readonly<Record<string, Balance>>;
}

/** The content of a ledger that keeps tasks. */
export interface TaskLedgerContent extends LedgerContent {
  readonly tasks: readonly Task[];
  readonly messages: readonly WebhookMessage[];
}

/** Reads a ledger file. */
export async function readLedgerFile(ledgerPath: string): Promise<TaskLedgerContent> {
  const ledger = createSqliteLedger({ path: ledgerPath });
  try {
    return await readTaskLedger(ledger, Object.keys(CALLERS));
  } finally {
    await ledger.close();
  }
}

/** Reads what a ledger has of these callers. */
export async function readTaskLedger(
  ledger: TaskLedger & OutboxLedger,
  callers: readonly string[],
): Promise<TaskLedgerContent> {
  const records = await readRecords(ledger);
  const balances = await Promise.all(callers.map(async (id) => [id, await ledger.balance(id)] as const));
  const tasks = await Promise.all(callers.map((id) => readTasks(ledger.tasks, id)));
  // The load submits fewer tasks.
  const messages = await ledger.outbox.list({}, 1_000);
  return { records, balances: Object.fromEntries(balances), tasks: tasks.flat(), messages };
}

const PAGE = 100;

async function readTasks(store: TaskStore, caller: string): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  let page: readonly Task[];
  do {
    page = await store.list(caller, { limit: PAGE, after: tasks.at(-1)?.id });
    // A list has no results.
    const whole = await Promise.all(page.map(({ id }) => store.find(caller, id)));
    tasks.push(...whole.map((task, at) => task ?? page[at]).filter((task) => task !== undefined));
  } while (page.length === PAGE);
  return tasks;
}

/** The records that `onUsage` got, by id, each in its last version. */
export function readSink(sinkPath: string): ReadonlyMap<string, UsageRecord> {
  const lines = readFileSync(sinkPath, "utf8").trimEnd().split("\n");
  return byId(
    lines.map((line) => {
      const record: UsageRecord = JSON.parse(line);
      return record;
    }),
  );
}

/** The last record of each id. */
export function byId(records: readonly UsageRecord[]): ReadonlyMap<string, UsageRecord> {
  return new Map(records.map((record) => [record.id, record]));
}
