import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createMemoryLedger } from "@calotype/core/billing";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { runLedgerCommand } from "./run-ledger-command.js";
import { writeLedgerDump } from "./write-ledger-dump.js";

const HOUR_MS = 3_600_000;
const FIRST = Date.parse("2026-03-01T00:30:00.000Z");

function temporaryFile(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), "calotype-ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, name);
}

async function run(...words: readonly string[]) {
  let [out, err] = ["", ""];
  const code = await runLedgerCommand(words, {
    write: (text) => void (out += text),
    complain: (text) => void (err += text),
    readEnv: () => ({}),
    progressMs: Number.POSITIVE_INFINITY,
  });
  return { code, out, err };
}

const toHold = (at: number) =>
  ({
    id: `req_${at}`,
    time: new Date(FIRST + at * HOUR_MS).toISOString(),
    caller: at % 2 === 0 ? "shop" : "app",
    group: "default",
    model: "image-max",
    operation: "generate",
    amount: "0.5",
    budget: "1000",
    period: { unit: "month", timeZone: "UTC" },
    ttlMs: 60_000,
  }) as const;

/** Charges a request. Each is in another hour. */
async function charge(ledger: Pick<SqliteLedger, "hold" | "settle">, at: number): Promise<void> {
  await ledger.hold(toHold(at));
  const { amount: _amount, ttlMs: _ttlMs, budget: _budget, period: _period, ...facts } = toHold(at);
  await ledger.settle({
    ...facts,
    state: "settled",
    channel: "one",
    upstreamModel: "one",
    status: 200,
    images: 1,
    charge: `0.${at + 1}`,
    durationMs: 1_000,
  });
}

/** A file with this number of charged requests. */
async function fill(requests: number): Promise<string> {
  const path = temporaryFile("ledger.db");
  const ledger = createSqliteLedger({ path, now: () => FIRST });
  for (let at = 0; at < requests; at++) await charge(ledger, at);
  await ledger.close();
  return path;
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

describe("check", () => {
  it.each([
    [
      "UPDATE balances SET settled = '9' WHERE caller = 'app'",
      ['"app": settled is 9, its totals of hours add up to 0.6'],
    ],
    ["UPDATE balances SET held = '1' WHERE caller = 'app'", ['"app": held is 1, its holds add up to 0']],
    ["DELETE FROM balances WHERE caller = 'app'", ['"app": settled is 0, its totals of hours add up to 0.6']],
    [
      "UPDATE hourly_totals SET images = 7 WHERE caller = 'shop' AND charge = '0.3'",
      ["images is 7, its records add up to 1"],
    ],
    [
      "DELETE FROM records WHERE id = 'req_3'",
      ["requests is 1, its records add up to 0; images", "The period"],
    ],
    [
      "UPDATE records SET charge = '0.31' WHERE id = 'req_2'",
      ["charge is 0.3, its records add up to 0.31", "The period"],
    ],
    ["UPDATE period_balances SET held = '1' WHERE caller = 'shop'", ['month UTC" of "shop": held is 1']],
  ])("finds %s", async (sql, found) => {
    const path = await fill(4);
    expect(await run("check", "--ledger", path)).toEqual({
      code: 0,
      out: "Nothing differs. Records read: 4.\n",
      err: "",
    });
    change(path, sql);
    const { code, out } = await run("check", "--ledger", path);
    expect(code).toBe(3);
    for (const part of found) expect(out).toContain(part);
    expect(JSON.parse((await run("check", "--json", "--ledger", path)).out)).toMatchObject({
      differences: found.map(() => expect.any(String)),
      notes: [],
    });
  });

  it("counts open holds, also those of a process that runs", async () => {
    const path = await fill(2);
    const ledger = createSqliteLedger({ path });
    await ledger.hold(toHold(7));
    expect(await run("check", "--ledger", path)).toMatchObject({ code: 0 });
    await ledger.release("req_7");
    await ledger.close();
  });
});

describe("prune", () => {
  it("removes records that were delivered, and a check then says what it could not compute", async () => {
    const path = await fill(9);
    const prune = ["prune", "--ledger", path, "--before", new Date(FIRST + 3 * HOUR_MS).toISOString()];
    expect(await run(...prune)).toEqual({ code: 0, out: "Records removed: 0.\n", err: "" });
    expect((await run(...prune, "--undelivered")).out).toBe("Records removed: 3.\n");
    const { code, out } = await run("check", "--ledger", path);
    expect(code).toBe(0);
    expect(out).toContain("3 records before 2026-03-01T03:00:00.000Z were removed");
    // More than the lower bound allows, and an hour that must be complete.
    change(
      path,
      "UPDATE period_balances SET settled = '0.1' WHERE caller = 'app'; DELETE FROM records WHERE id = 'req_5'",
    );
    const broken = await run("check", "--ledger", path);
    expect(broken.code).toBe(3);
    expect(broken.out).toContain("Differences: 2.");
  });
});

describe("migrations", () => {
  it("print what makes a file, and nothing for a file of this version", async () => {
    const path = temporaryFile("printed.db");
    change(path, (await run("migrations", "--print", "--for", "sqlite")).out);
    const ledger = createSqliteLedger({ path, migrate: false });
    await charge(ledger, 1);
    await ledger.close();
    expect(await run("migrations", "--print", "--ledger", path)).toEqual({ code: 0, out: "", err: "" });
  });
});

const copyDump = async (path: string) =>
  await run("copy", "--from", path, "--to", temporaryFile("target.db"));

/** The lines of a dump without the last one, which has the number of changes of callers. */
const rowsOf = (path: string): string[] => readFileSync(path, "utf8").split("\n").slice(0, -2);

describe("a dump", () => {
  it("of a file has all of it", async () => {
    const [dump, again] = [temporaryFile("dump.jsonl"), temporaryFile("again.jsonl")];
    const back = temporaryFile("back.db");
    expect(await run("copy", "--from", await fill(3), "--to", dump)).toMatchObject({ code: 0, err: "" });
    expect(await run("copy", "--from", dump, "--to", back)).toMatchObject({ code: 0, err: "" });
    expect(await run("copy", "--from", back, "--to", again)).toMatchObject({ code: 0 });
    expect(rowsOf(again)).toEqual(rowsOf(dump));
    expect(await run("copy", "--from", back, "--to", again)).toMatchObject({
      code: 1,
      err: expect.stringContaining("exists already"),
    });
  });

  it.each([
    [
      "its last line",
      (text: string) => text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1),
      "is not complete",
    ],
    ["a row", (text: string) => text.replace(/^\["req_1".*\n/m, ""), "the dump has 9 rows and not 10"],
    ["its first line", (text: string) => text.slice(text.indexOf("\n") + 1), "not a dump of a ledger"],
    [
      "the end of a line",
      (text: string) => text.replace(/^(\["req_1".*)....\n/m, "$1\n"),
      "Line 4 of the dump",
    ],
    ["a column", (text: string) => text.replace(',"cost"]', "]"), "its columns must be"],
    [
      "its version",
      (text: string) => text.replace('"version":1', '"version":9'),
      "version 9, this command knows 1",
    ],
    ["an amount", (text: string) => text.replace('"0.2"', '"0,2"'), "is not a decimal"],
  ])("without %s is refused with the line", async (_what, damage, message) => {
    const path = temporaryFile("dump.jsonl");
    await run("copy", "--from", await fill(2), "--to", path);
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    const { code, out, err } = await copyDump(path);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(message);
  });

  it("keeps line separators in names", async () => {
    const ledger = createMemoryLedger();
    const caller = "north\u2028south\u2029";
    await ledger.hold({ ...toHold(0), caller });
    const { amount: _amount, ttlMs: _ttlMs, budget: _budget, period: _period, ...facts } = toHold(0);
    const sentTo = { state: "settled", channel: "one", upstreamModel: "one", status: 200 } as const;
    await ledger.settle({ ...facts, ...sentTo, caller, images: 1, charge: "0.1", durationMs: 1_000 });
    const [dump, target] = [temporaryFile("memory.jsonl"), temporaryFile("a.db")];
    await writeLedgerDump(ledger, dump);
    expect(await run("copy", "--from", dump, "--to", target)).toMatchObject({ code: 0, err: "" });
    const copied = createSqliteLedger({ path: target });
    expect(await copied.balance(caller)).toEqual({ settled: "0.1", held: "0" });
    await copied.close();
  });

  it("of a ledger in memory is refused while money is held", async () => {
    const ledger = createMemoryLedger();
    await charge(ledger, 1);
    await ledger.hold(toHold(2));
    const path = temporaryFile("memory.jsonl");
    await expect(writeLedgerDump(ledger, path, { callers: ["shop"] })).rejects.toThrow(
      '0.5 is held for the caller "shop"',
    );
    expect(await run("copy", "--from", path, "--to", temporaryFile("a.db"))).toMatchObject({ code: 1 });
    await ledger.release("req_2");
    await writeLedgerDump(ledger, path, { callers: ["shop"] });
    const target = temporaryFile("a.db");
    expect(await run("copy", "--from", path, "--to", target)).toMatchObject({ code: 0, err: "" });
    expect(await run("check", "--ledger", target)).toMatchObject({ code: 0 });
  });
});

describe("a move", () => {
  it("into the ledger of the caller is refused, and changes nothing", async () => {
    const [one, two] = [await fill(2), temporaryFile("two.db")];
    expect(await run("copy", "--from", one, "--to", two, "--caller", "shop")).toMatchObject({
      code: 0,
      err: "",
    });
    const alias = temporaryFile("alias.db");
    symlinkSync(two, alias);
    for (const words of [[], ["--replace"], ["--undo"]]) {
      expect(await run("copy", "--from", two, "--to", alias, "--caller", "shop", ...words)).toMatchObject({
        code: 1,
        err: expect.stringContaining("are the same"),
      });
    }
    const ledger = createSqliteLedger({ path: two });
    expect(await ledger.hold({ ...toHold(4), budget: undefined, period: undefined })).toEqual({ ok: true });
    expect(await ledger.balance("shop")).toEqual({ settled: "0.1", held: "0.5" });
    await ledger.close();
  });
});

describe("a move back that is given up", () => {
  it("leaves the records that the target has still to deliver", async () => {
    const [one, two] = [await fill(2), temporaryFile("two.db")];
    const back = ["copy", "--from", two, "--to", one, "--caller", "shop", "--replace"];
    await run("copy", "--from", one, "--to", two, "--caller", "shop");
    const [source, target] = [createSqliteLedger({ path: two }), createSqliteLedger({ path: one })];
    expect(await source.hold({ ...toHold(4), budget: undefined, period: undefined })).toEqual({ ok: true });
    expect((await run(...back)).err).toContain('has 1 open hold for the caller "shop"');
    const waiting = await target.takeUndelivered(10, 0);
    expect(waiting.map(({ id }) => id)).toEqual(["req_0", "req_1"]);
    // The target goes on to refuse the caller, and the source does not.
    await expect(target.hold(toHold(6))).rejects.toThrow("moved to another one");
    await source.release("req_4");
    expect(await run(...back)).toMatchObject({ code: 0, err: "" });
    expect(await target.hold(toHold(6))).toEqual({ ok: true });
    await Promise.all([source.close(), target.close()]);
  });
});

describe("arguments", () => {
  it.each([
    [[], "The first word must be copy, check, migrations, prune."],
    [["drop"], "The first word must be"],
    [["copy"], "--from is missing"],
    [["copy", "--from", "a.db"], "--to is missing"],
    [["copy", "--from", "a.db", "--to", "b.db", "--colour"], "Unknown option '--colour'"],
    [["copy", "--from", "a.db", "--to", "b.db", "--undo"], "need --caller"],
    [["copy", "--from", "a.db", "--to", "b.db", "--caller", ""], "--caller must not be empty"],
    [["copy", "--from", "a.db", "--to", "b.db", "--wait", "soon"], "--wait must be a number of seconds"],
    [["check"], "--ledger is missing"],
    [["check", "a.db"], "Unexpected argument"],
    [["migrations"], "add --print"],
    [["migrations", "--print", "--for", "mysql"], "--for must be sqlite or postgres"],
    [["prune", "--ledger", "a.db"], "--before is missing"],
  ])("%j are wrong", async (words, message) => {
    const { code, out, err } = await run(...words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  it.each([
    [["check", "--ledger", "/nowhere/a.db"], 'There is no file "/nowhere/a.db"'],
    [["check", "--ledger", "mysql://me:canary@localhost/a"], "must be the path of an SQLite file"],
    [["check", "--ledger", ":memory:"], "writeLedgerDump"],
    [["check", "--ledger", "a.jsonl"], "A dump has no gateway"],
    [["copy", "--from", "/nowhere/a.jsonl", "--to", "b.db"], "/nowhere/a.jsonl"],
    [["copy", "--from", "a.jsonl", "--to", "b.db", "--caller", "shop"], "A dump has no gateway"],
    [["check", "--ledger", "postgres://me:canary@127.0.0.1:1/a"], "cannot be used"],
  ])("%j fail with the reason, without the password", async (words, message) => {
    const { code, out, err } = await run(...words);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(message);
    expect(err).not.toContain("canary");
  });

  it("prune refuses a time without a zone, and removes nothing", async () => {
    const path = await fill(2);
    const { code, err } = await run("prune", "--ledger", path, "--before", "2027-01-01", "--undelivered");
    expect(code).toBe(2);
    expect(err).toContain("before must be");
    expect((await run("check", "--ledger", path)).out).toContain("Records read: 2.");
  });

  it("--help describes the commands", async () => {
    const { code, out } = await run("--help");
    expect(code).toBe(0);
    for (const word of ["copy", "check", "migrations", "prune", "--undo", "Exit code"])
      expect(out).toContain(word);
  });
});
