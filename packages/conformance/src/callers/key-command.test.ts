import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { createGateway } from "@calotype/core";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";

const MODULES = join(import.meta.dirname, "../../node_modules");
const COMMAND = join(MODULES, "@calotype/core/dist/features/key-command/calotype-key.js");
const PATIENCE = { timeout: 10_000, interval: 200 };

const parent = mkdtempSync(join(tmpdir(), "calotype-key-"));
afterAll(() => rmSync(parent, { recursive: true }));

/** The folder of an app, with the installed packages. */
function createProject(): string {
  const folder = mkdtempSync(join(parent, "app-"));
  symlinkSync(MODULES, join(folder, "node_modules"));
  return folder;
}

/** Runs `calotype-key` in the folder of an app, without variables of this process. */
async function run(folder: string, words: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: folder,
    env: { NODE_ENV: "test", PATH: process.env["PATH"], HOME: folder, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { code: child.exitCode, out, err };
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder).filter((name) => name !== "node_modules");

/** Refuses a request in this process. Returns its id. */
async function refuseRequest(ledger: Parameters<typeof createGateway>[0]["ledger"]): Promise<string> {
  const gateway = createGateway({
    models: { "image-max": { family: "qwen-image" } },
    channels: [{ id: "none", family: "qwen-image", apiKey: "none" }],
    callers: [],
    ledger,
    logger: { warn() {}, error() {} },
  });
  onTestFinished(() => gateway.close());
  const request = new Request("http://gateway.test/v1/images/generations", { method: "POST" });
  return (await gateway.fetch(request)).headers.get("x-request-id") ?? "";
}

const READING: readonly (readonly string[])[] = [
  ["list"],
  ["audit"],
  ["usage"],
  ["request", "req_1"],
  ["change", "--id", "shop", "--group", "vip"],
  ["revoke", "--id", "shop"],
];

describe("calotype-key with SQLite", () => {
  it.each(READING)("%s creates neither a file nor tables", async (...words) => {
    const folder = createProject();
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "empty.db"), "");

    const missing = await run(folder, words, { CALOTYPE_LEDGER: "data/typo.db" });
    expect(missing).toMatchObject({ code: 1, out: "" });
    expect(missing.err).toContain('There is no file "data/typo.db"');
    const empty = await run(folder, words, { CALOTYPE_LEDGER: "empty.db" });
    expect(empty).toMatchObject({ code: 1, out: "" });
    expect(empty.err).toContain("it has no tables of a ledger");
    expect(filesOf(folder)).toEqual(["data", "empty.db"]);
    expect(filesOf(join(folder, "data"))).toEqual([]);
    using database = new DatabaseSync(join(folder, "empty.db"));
    expect(database.prepare("SELECT name FROM sqlite_schema").all()).toEqual([]);
  });

  it("reads the variables of .env, and those of the process before them", async () => {
    const folder = createProject();
    writeFileSync(join(folder, ".env"), "CALOTYPE_LEDGER=app.db\n");
    expect(await run(folder, ["create", "--id", "shop"])).toMatchObject({ code: 0 });

    expect(filesOf(folder)).toContain("app.db");
    expect((await run(folder, ["list"])).out).toContain("shop");
    const other = await run(folder, ["list"], { CALOTYPE_LEDGER: "other.db" });
    expect(other.err).toContain('"other.db"');
  });

  it("shows a request that another process has refused a moment ago", async () => {
    const folder = createProject();
    const path = join(folder, "app.db");
    const ledger = createSqliteLedger({ path });
    onTestFinished(() => ledger.close());
    const id = await refuseRequest(ledger);

    await expect
      .poll(() => run(folder, ["request", id], { CALOTYPE_LEDGER: path }), PATIENCE)
      .toMatchObject({ code: 0, err: "", out: expect.stringContaining("refused: 401 invalid_api_key") });
  });

  it("says what a word means that it does not know, and what the options of the gateway have", async () => {
    const folder = createProject();
    const env = { CALOTYPE_LEDGER: "app.db" };
    await run(folder, ["create", "--id", "shop"], env);

    expect((await run(folder, ["lsit"], env)).err).toContain("Did you mean list?");
    expect((await run(folder, ["list", "--limt", "5"], env)).err).toContain("Did you mean --limit?");
    expect((await run(folder, ["rotate", "--id", "web"], env)).err).toContain("options of the gateway");
    expect((await run(folder, ["rotate", "--id", "shop"], env)).out).toMatch(
      / ends at \d{4}-\d\d-\d\dT.*Z\./,
    );
    expect(await run(folder, ["usage", "--from", "7d"], env)).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^--from 7d is .*Z \(days of UTC\)\.$/m),
    });
  });
});

await describeWithService(POSTGRES, (url) => {
  it.each(READING)("%s creates no schema", async (...words) => {
    const schema = `calotype_typo_${randomUUID()}`;
    const pool = new Pool({ connectionString: url });
    onTestFinished(() => pool.end());

    const { code, out, err } = await run(createProject(), [...words, "--schema", schema], {
      DATABASE_URL: url,
    });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`"${schema}" cannot be used: it does not exist`);
    const { rows } = await pool.query("SELECT nspname FROM pg_namespace WHERE nspname = $1", [schema]);
    expect(rows).toEqual([]);
  });

  it("shows a request that another process has refused a moment ago", async () => {
    const schema = `calotype_refused_${randomUUID()}`;
    const pool = new Pool({ connectionString: url });
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(async () => {
      await ledger.close();
      await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
      await pool.end();
    });
    await ledger.ready();
    const id = await refuseRequest(ledger);

    await expect
      .poll(() => run(createProject(), ["request", id, "--schema", schema], { DATABASE_URL: url }), PATIENCE)
      .toMatchObject({ code: 0, err: "", out: expect.stringContaining("refused: 401 invalid_api_key") });
  });
});
