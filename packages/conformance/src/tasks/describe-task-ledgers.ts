import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryLedger } from "@calotype/core";
import type { Balance, TaskLedger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { afterAll, expect, it, onTestFinished } from "vitest";
import type { Hosts, OpenHost } from "../hosts/every-host.js";
import type { Call, ReadResponse } from "../support/http-client.js";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { canUse, POSTGRES, urlOf } from "../support/service.js";
import { CALLER_KEY, type Providers, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { writeTable } from "../support/written-table.js";

const directory = mkdtempSync(join(tmpdir(), "calotype-tasks-"));
const postgresUrl = urlOf(POSTGRES);
const hasPostgres = await canUse(POSTGRES, postgresUrl);
const pool = new Pool({ connectionString: postgresUrl, options: "-c synchronous_commit=off" });
const schemas: string[] = [];

afterAll(async () => {
  for (const schema of schemas) await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  await pool.end();
  rmSync(directory, { recursive: true, force: true });
});

/** Opens a ledger that is closed after the test. */
type CreateTaskLedger = () => TaskLedger;

const LEDGERS: Readonly<Record<string, CreateTaskLedger>> = {
  Memory: () => createMemoryLedger(),
  SQLite: () => {
    const ledger = createSqliteLedger({ path: join(directory, `${randomUUID()}.db`) });
    onTestFinished(() => ledger.close());
    return ledger;
  },
  PostgreSQL: () => {
    const schema = `calotype_test_${randomUUID()}`;
    schemas.push(schema);
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(() => ledger.close());
    return ledger;
  },
};

const headers = { authorization: `Bearer ${CALLER_KEY}` };
const BODY = { ...SEEDREAM_BODY, n: 2 };
const parse = ({ text }: ReadResponse): Record<string, unknown> => JSON.parse(text);

interface LedgerCase {
  readonly host: string;
  readonly open: OpenHost;
  readonly ledger: string;
  readonly openLedger: CreateTaskLedger;
}

/** The ledgers that keep tasks, on every host. */
export function describeTaskLedgers(hosts: Hosts): void {
  const providers = useProviders();
  /** What was seen, by host and ledger. */
  const seen = new Map<string, string>();
  const cases = Object.entries(hosts).flatMap(([host, open]) =>
    Object.entries(LEDGERS).map(([ledger, openLedger]): LedgerCase => ({ host, open, ledger, openLedger })),
  );
  const isUsable = ({ ledger }: LedgerCase): boolean => hasPostgres || ledger !== "PostgreSQL";

  it.each(cases.filter(isUsable))("tasks on $host, $ledger", async (given) => {
    expect(await runTasks(given, providers())).toEqual({ held: "0", settled: "0.12" });
    seen.set(`${given.host}|${given.ledger}`, "yes");
  });

  it.skipIf(!hasPostgres)("docs/tasks.md shows which ledgers have tasks on which hosts", async () => {
    const ledgers = Object.keys(LEDGERS);
    const rows = Object.keys(hosts).map((host) => [
      host,
      ...ledgers.map((ledger) => seen.get(`${host}|${ledger}`) ?? "no"),
    ]);
    const { text, path } = writeTable("docs/tasks.md", ["Host", ...ledgers], rows);
    await expect(text).toMatchFileSnapshot(path);
  });
}

/** Submits, waits, follows, lists and cancels tasks, and compares the result and the record with those of a direct call. */
async function runTasks({ open, openLedger }: LedgerCase, providers: Providers): Promise<Balance> {
  const ledger = openLedger();
  const { gateway, records } = startGateway(providers, { ledger, tasks: { concurrency: 1 } });
  const { send } = await open(gateway);
  const get = (path: string, method = "GET"): Promise<ReadResponse> => send({ method, path, headers });
  const submit = async (more: Partial<Call["headers"]> = {}): Promise<string> => {
    const submitted = await send(jsonCall(BODY, { prefer: "respond-async", ...more }));
    expect(submitted).toMatchObject({ status: 202, headers: { "preference-applied": "respond-async" } });
    return submitted.headers["location"] ?? "";
  };

  const key = { "idempotency-key": randomUUID() };
  const first = await submit(key);
  expect(await submit(key)).toBe(first);
  const done = parse(await get(`${first}?wait=30`));
  expect(done).toMatchObject({ status: "completed", result: { data: [{}, {}] } });
  expect((await get(`${first}/events`)).text).toMatch(/event: status\ndata: \{.*"completed"/);

  // The second runs, so the third can be cancelled.
  providers.emulator.faults.add({ latencyMs: 1500 });
  const second = await submit();
  const third = await submit();
  expect(parse(await get(`${third}/cancel`, "POST"))).toMatchObject({ status: "cancelled" });
  expect(parse(await get(`${second}?wait=30`))).toMatchObject({ status: "completed" });
  const list = parse(await get("/v1/images/tasks?limit=3"));
  expect(list["data"]).toMatchObject([
    { status: "cancelled" },
    { status: "completed" },
    { status: "completed" },
  ]);

  await gateway.close();
  expect(records.map(({ task, images }) => ({ task, images }))).toEqual(
    [first, second].map((path) => ({ task: path.split("/").at(-1), images: 2 })),
  );
  return ledger.balance("tester");
}
