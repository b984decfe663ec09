import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryLedger } from "@calotype/core/billing";
import { writeLedgerDump } from "@calotype/ledger";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { CALLERS, FIRST, type FullLedger, fillLedger } from "./fill-ledger.js";
import {
  at,
  createFolder,
  type LedgerPlace,
  nameSchema,
  readRows,
  runCommand,
  startCommand,
} from "./run-command.js";

/** More than a page of records, so that a copy can be killed between two pages. */
const REQUESTS = 1_200;

async function fillFile(requests: number): Promise<LedgerPlace> {
  const path = join(createFolder(), "ledger.db");
  const ledger = createSqliteLedger({ path });
  await fillLedger(ledger, requests);
  await ledger.close();
  return { ledger: path };
}

/** What users of a ledger read. */
async function readReports(ledger: FullLedger): Promise<unknown> {
  return {
    callers: await ledger.callers.list({ limit: 100 }),
    audit: (await ledger.callers.audit({ limit: 100 })).map(({ sequence: _sequence, ...line }) => line),
    balances: await ledger.budgets.balances?.(CALLERS, undefined),
    periods: await ledger.budgets.list(),
    totals: await ledger.totals("caller"),
    series: await ledger.history.series({
      from: new Date(FIRST).toISOString(),
      to: new Date(FIRST + REQUESTS * 60_000).toISOString(),
      bucket: "day",
      by: "model",
    }),
    refusal: await ledger.refusals.find("req_refused"),
    disabled: await ledger.outbox.listDisabled(),
    messages: (await ledger.outbox.list({}, 10)).map(({ nextAt: _nextAt, ...message }) => message),
    undelivered: await ledger.outbox.lease("record", { limit: 100, leaseMs: 1_000 }),
    alerts: await ledger.outbox.lease("alert", { limit: 100, leaseMs: 1_000 }),
  };
}

/** A ledger that is closed after the test. */
function openPostgres({ ledger: connectionString, schema }: LedgerPlace): FullLedger {
  const pool = new Pool({ connectionString });
  const ledger = createPostgresLedger({ pool, schema });
  onTestFinished(async () => {
    await ledger.close();
    await pool.end();
  });
  return ledger;
}

await describeWithService(POSTGRES, (url) => {
  describe("a copy from SQLite to PostgreSQL and back", () => {
    it("has every row, is killed twice on its way, and its target goes on with the money and the callers", async () => {
      const source = await fillFile(REQUESTS);
      const rows = await readRows(source);
      const target = nameSchema(url);
      const words = ["copy", ...at("from", source), ...at("to", target)];
      const pool = new Pool({ connectionString: url });
      onTestFinished(() => pool.end());
      const readState = async (): Promise<string> =>
        await pool.query(`SELECT state FROM "${target.schema}".copy_progress`).then(
          ({ rows: [row] }) => row?.state ?? "",
          () => "",
        );

      let state = "";
      for (let kills = 0; kills < 2; kills++) {
        const { child, ended } = startCommand(words);
        while ((await readState()) === state) await sleep(1);
        child.kill("SIGKILL");
        expect((await ended).out).toBe("");
        state = await readState();
      }
      // Until the copy is complete, no gateway can use the target, and it cannot be copied.
      const early = openPostgres(target);
      await expect(early.hold({ ...HOLD, id: "req_early" })).rejects.toThrow("is being copied");
      await early.close();
      expect(
        (await runCommand("copy", ...at("from", target), "--to", join(createFolder(), "a.jsonl"))).err,
      ).toContain("is not complete");
      expect(await runCommand(...words)).toMatchObject({ code: 0, err: "" });
      expect(await readRows(target)).toBe(rows);
      expect(await runCommand(...words)).toMatchObject({
        code: 0,
        out: expect.stringContaining("copied before"),
      });

      const back = { ledger: join(createFolder(), "back.db") };
      expect(await runCommand("copy", ...at("from", target), ...at("to", back))).toMatchObject({ code: 0 });
      expect(await readRows(back)).toBe(rows);
      for (const place of [back, target]) {
        expect(await runCommand("check", ...at("ledger", place))).toMatchObject({
          code: 0,
          out: expect.stringMatching(/^Nothing/),
        });
      }

      const before = createSqliteLedger({ path: source.ledger });
      const { revision } = await before.callers.lookUp([]);
      const reports = await readReports(before);
      await before.close();
      const file = createSqliteLedger({ path: back.ledger });
      onTestFinished(() => file.close());
      for (const ledger of [openPostgres(target), file]) {
        expect(await readReports(ledger)).toEqual(reports);
        expect((await ledger.callers.lookUp([])).revision).toBeGreaterThan(revision);
        // A budget counts what was charged before, and a new alert is written once.
        const budget = { budget: "1", id: "req_new" };
        expect(await ledger.hold({ ...HOLD, ...budget, caller: "web-shop" })).toMatchObject({ ok: false });
        expect(await ledger.hold({ ...HOLD, id: "req_other" })).toEqual({ ok: true });
        await ledger.release("req_other");
      }
    });

    it("needs an empty target, and nothing in progress", async () => {
      const path = join(createFolder(), "ledger.db");
      const ledger = createSqliteLedger({ path });
      await ledger.hold({ ...HOLD, id: "req_1" });
      const target = nameSchema(url);
      const words = ["copy", "--from", path, ...at("to", target)];
      const open = await runCommand(...words);
      expect(open).toMatchObject({ code: 1, out: "" });
      expect(open.err).toContain("1 open hold, 1 process in use of it");
      await ledger.release("req_1");
      await ledger.close();

      const used = openPostgres(target);
      await used.hold({ ...HOLD, id: "req_2" });
      await used.release("req_2");
      await used.callers.create("shop", () => ({
        caller: { settings: "{}", keys: [] },
        audit: { by: "ann", action: "create", details: "{}" },
      }));
      expect((await runCommand(...words)).err).toContain("1 process use");
      await used.close();
      const refused = await runCommand(...words);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toContain(
        "already has other data (rows of balances: 1, caller_audit: 1, callers: 1)",
      );
    });
  });

  it("what is written by hand is found by a check, and removed records leave a lower bound", async () => {
    const source = await fillFile(300);
    const target = nameSchema(url);
    await runCommand("copy", ...at("from", source), ...at("to", target));
    const prune = [
      "prune",
      ...at("ledger", target),
      "--before",
      new Date(FIRST + 100 * 60_000).toISOString(),
    ];
    expect((await runCommand(...prune)).out).toBe("Records removed: 0.\n");
    expect((await runCommand(...prune, "--undelivered")).out).toBe("Records removed: 96.\n");
    const pruned = await runCommand("check", ...at("ledger", target));
    expect(pruned).toMatchObject({ code: 0, err: "" });
    expect(pruned.out).toMatch(
      /96 records before 2026-10-31T00:00:00.000Z were removed: .* lower bounds only/,
    );

    const pool = new Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    await pool.query(`DELETE FROM "${target.schema}".records WHERE id = 'req_000200';
      UPDATE "${target.schema}".balances SET settled = settled + 1 WHERE caller = 'Zebra'`);
    const found = await runCommand("check", ...at("ledger", target));
    expect(found.code).toBe(3);
    expect(found.out).toContain('The balance of "Zebra": settled is ');
    expect(found.out).toMatch(
      /The totals of hour 2026-10-31T01:00:00.000Z, .*: requests is \d+, its records add up to/,
    );
    expect(found.out).toContain("Differences: 2.");
  });

  it("the printed migrations make a ledger", async () => {
    const target = nameSchema(url);
    const { schema } = target;
    const pool = new Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    const all = await runCommand("migrations", "--print", "--for", "postgres", "--schema", schema);
    await pool.query(all.out);
    const ledger = createPostgresLedger({ pool, schema, migrate: false });
    expect(await ledger.hold({ ...HOLD, id: "req_1" })).toEqual({ ok: true });
    await ledger.close();
    const none = await runCommand("migrations", "--print", ...at("ledger", target));
    expect(none).toMatchObject({ code: 0, out: "" });
  });

  it("a dump of a ledger in memory becomes a ledger on PostgreSQL", async () => {
    const memory = createMemoryLedger();
    for (const [index, charge] of ["0.25", "0.1", "0"].entries()) {
      const hold = { ...HOLD, id: `req_${index}`, caller: index === 2 ? "app" : "shop" };
      await memory.hold({ ...hold, budget: "10", period: { unit: "day", timeZone: "UTC" } });
      await memory.settle({ ...RECORD, ...hold, charge, ...(index === 0 && { cost: "0.2" }) });
    }
    await memory.callers.create("shop", () => ({
      caller: { settings: "{}", keys: [{ hash: "a".repeat(64), hint: "cal-…a", createdAt: 1 }] },
      audit: { by: "ann", action: "create", details: "{}" },
    }));
    const path = join(createFolder(), "memory.jsonl");
    await writeLedgerDump(memory, path);
    const target = nameSchema(url);
    expect(await runCommand("copy", "--from", path, ...at("to", target))).toMatchObject({ code: 0, err: "" });
    expect(await runCommand("check", ...at("ledger", target))).toMatchObject({ code: 0 });
    const ledger = openPostgres(target);
    expect(await ledger.balance("shop")).toEqual({ settled: "0.35", held: "0" });
    expect(await ledger.totals("caller")).toEqual(await memory.totals("caller"));
    expect(await ledger.budgets.list()).toEqual(await memory.budgets.list());
    expect(await ledger.callers.list({ limit: 10 })).toEqual(await memory.callers.list({ limit: 10 }));
    expect((await ledger.callers.lookUp(["a".repeat(64)])).callers).toHaveLength(1);
  });
});

const HOLD = {
  time: new Date(FIRST).toISOString(),
  caller: "app,1",
  group: "default",
  model: "image-max",
  operation: "generate",
  amount: "0.5",
  ttlMs: 60_000,
} as const;

const RECORD = {
  state: "settled",
  channel: "ark-1",
  upstreamModel: "ep-1",
  status: 200,
  images: 1,
  durationMs: 1_234,
} as const;
