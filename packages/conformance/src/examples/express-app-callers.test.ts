import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { BudgetAlert } from "@calotype/core/stores";
import OpenAI, { APIError } from "openai";
import { Client } from "pg";
import { afterAll, describe, expect, it, type TestContext, vi } from "vitest";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const HERE = join(ROOT, "examples/express-app");
const COMMAND = join(ROOT, "packages/core/dist/features/key-command/calotype-key.js");
const PATIENCE = { timeout: 20_000, interval: 50 };

const POSTGRES = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
const hasPostgres = await canUsePostgres();

const folder = mkdtempSync(join(tmpdir(), "calotype-callers-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function canUsePostgres(): Promise<boolean> {
  try {
    await query("SELECT 1");
    return true;
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    process.stderr.write("Left out: what needs PostgreSQL at the address of CALOTYPE_TEST_POSTGRES.\n");
    return false;
  }
}

async function query(statement: string): Promise<void> {
  const client = new Client({ connectionString: POSTGRES, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Creates a database that is removed after the test. Its ledger has the usual schema. */
async function createDatabase({ onTestFinished }: TestContext): Promise<string> {
  const name = `calotype_callers_${randomUUID()}`;
  await query(`CREATE DATABASE "${name}"`);
  onTestFinished(() => query(`DROP DATABASE "${name}" WITH (FORCE)`));
  const url = new URL(POSTGRES);
  url.pathname = name;
  return url.href;
}

/** Two processes of the app with one ledger. They end before the database is removed. */
async function startApps(
  ledger: string,
  { onTestFinished }: TestContext,
): Promise<readonly RunningExample[]> {
  const server = join(HERE, "server.ts");
  const start = async (): Promise<RunningExample> => {
    const app = await startExample(server, { CALOTYPE_LEDGER: ledger });
    onTestFinished(async () => void (await app.stop()));
    return app;
  };
  return await Promise.all([start(), start()]);
}

/** Runs `calotype-key` as an operator does. */
async function runCommand(ledger: string, words: readonly string[]) {
  const child = spawn(process.execPath, [COMMAND, ...words], {
    cwd: HERE,
    env: { ...process.env, CALOTYPE_LEDGER: ledger },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { code: child.exitCode, out, err };
}

/** Requests an image from each app with the official client. Returns the status codes. */
async function requestFrom(
  apps: readonly RunningExample[],
  key: string,
): Promise<readonly (number | undefined)[]> {
  return await Promise.all(
    apps.map(async ({ baseUrl }) => {
      const client = new OpenAI({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
      try {
        const { data } = await client.images.generate({ model: "seedream-4-0-250828", prompt: "an oak" });
        return data?.[0]?.url === undefined ? undefined : 200;
      } catch (error) {
        if (error instanceof APIError) return Number(error.status);
        throw error;
      }
    }),
  );
}

/** The alerts that the apps have printed. */
function alertsOf(apps: readonly RunningExample[]): readonly BudgetAlert[] {
  return apps
    .flatMap(({ lines }) => lines)
    .filter((line) => line.startsWith('{"budgetAlert":'))
    .map((line): BudgetAlert => JSON.parse(line).budgetAlert);
}

const keyIn = (out: string): string => /cal-[\dA-Za-z]{43}/.exec(out)?.[0] ?? "";

const LEDGERS: readonly (readonly [string, (test: TestContext) => Promise<string>])[] = [
  ["an SQLite file", async () => join(folder, "ledger.db")],
  ["a PostgreSQL database", createDatabase],
];

describe("the Express app with CALOTYPE_LEDGER", () => {
  it.concurrent.for(LEDGERS.slice(0, hasPostgres ? 2 : 1))(
    "has callers of commands alone, in two processes with %s",
    { timeout: 120_000 },
    async ([, open], test) => {
      const ledger = await open(test);
      const apps = await startApps(ledger, test);
      const calotypeKey = (...words: string[]) => runCommand(ledger, words);
      const request = (key: string) => requestFrom(apps, key);
      const becomes = async (key: string, status: number): Promise<void> =>
        await vi.waitFor(async () => expect(await request(key)).toEqual([status, status]), PATIENCE);

      const created = await calotypeKey("create", "--id", "web-shop", "--budget", "50", "--by", "ann");
      expect(created).toMatchObject({ code: 0, err: "" });
      const first = keyIn(created.out);
      expect(await request("cal-unknown")).toEqual([401, 401]);
      await becomes(first, 200);

      const listed = await calotypeKey("list");
      expect(listed.out).toMatch(/^web-shop +active +default +50 +all/m);
      expect(listed.out.includes(first)).toBe(false);
      const taken = await calotypeKey("create", "--id", "web-shop");
      expect(taken).toMatchObject({ code: 1, out: "" });

      expect(await calotypeKey("change", "--id", "web-shop", "--budget", "0.1")).toMatchObject({ code: 0 });
      await becomes(first, 403);
      expect(await calotypeKey("change", "--id", "web-shop", "--unset", "budget")).toMatchObject({ code: 0 });
      await becomes(first, 200);

      // Five requests for 0.2 each. Which process has the last one is left to chance.
      const monthly = await calotypeKey("change", "--id", "web-shop", "--budget", "1/month");
      expect(monthly).toMatchObject({ code: 0 });
      await becomes(first, 403);
      await vi.waitFor(() => {
        const alerts = alertsOf(apps);
        expect(new Set(alerts.map(({ threshold }) => threshold))).toEqual(new Set([50, 80, 100]));
        for (const alert of alerts) {
          expect(alert).toMatchObject({ caller: "web-shop", budget: "1", period: { unit: "month" } });
        }
      }, PATIENCE);
      expect((await calotypeKey("list")).out).toMatch(/^web-shop +active +default +1\/month +all/m);
      expect((await calotypeKey("usage", "--by", "period")).out).toMatch(/month UTC +\d+ +\d+ +1 +0$/m);
      expect(await calotypeKey("change", "--id", "web-shop", "--budget", "50/month")).toMatchObject({
        code: 0,
      });
      await becomes(first, 200);

      const second = keyIn((await calotypeKey("rotate", "--id", "web-shop")).out);
      await becomes(second, 200);
      expect(await request(first)).toEqual([200, 200]);
      const third = keyIn((await calotypeKey("rotate", "--id", "web-shop", "--overlap-seconds", "1")).out);
      await becomes(first, 401);
      await becomes(second, 401);
      expect(await request(third)).toEqual([200, 200]);

      expect(await calotypeKey("revoke", "--id", "web-shop")).toMatchObject({ code: 0 });
      await becomes(third, 401);
      const { out } = await calotypeKey("audit", "--json");
      const lines = JSON.parse(out) as { action: string; by: string }[];
      expect(lines.map(({ action }) => action)).toEqual([
        "revoke",
        "rotate",
        "rotate",
        "change",
        "change",
        "change",
        "change",
        "create",
      ]);
      expect(lines.at(-1)).toMatchObject({ by: "ann" });
      for (const key of [first, second, third]) expect(out.includes(key)).toBe(false);
    },
  );

  it("names the packages that a PostgreSQL URL needs, if they are not installed", async () => {
    const hooks = `import { registerHooks } from "node:module";
      registerHooks({
        resolve(name, context, next) {
          if (name !== "@calotype/postgres") return next(name, context);
          throw Object.assign(new Error("missing"), { code: "ERR_MODULE_NOT_FOUND" });
        },
      });`;
    const started = startExample(join(HERE, "server.ts"), {
      CALOTYPE_LEDGER: "postgresql://me:secret@127.0.0.1:1/db",
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hooks)}`,
    });
    await expect(started).rejects.toThrow("needs: npm install @calotype/postgres pg\n");
    await expect(started).rejects.not.toThrow(/secret|\n +at /);
  });

  it("ends with one line that gives the reason if PostgreSQL cannot be reached", async () => {
    const started = startExample(join(HERE, "server.ts"), {
      CALOTYPE_LEDGER: "postgres://me:secret@127.0.0.1:1/db",
    });
    await expect(started).rejects.toThrow("ECONNREFUSED");
    await expect(started).rejects.not.toThrow(/secret|\n +at /);
  });

  it("cannot be opened by the command in a folder without the package of the ledger", async () => {
    const child = spawn(
      process.execPath,
      [COMMAND, "list", "--ledger", "postgres://me:secret@127.0.0.1:1/db"],
      {
        cwd: folder,
        // pnpm lists its own folders there.
        env: { ...process.env, NODE_PATH: "" },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    const exited = once(child, "exit");
    const err = await text(child.stderr);
    await exited;
    expect(child.exitCode).toBe(1);
    expect(err).toContain("npm install @calotype/postgres");
    expect(err.includes("secret")).toBe(false);
  });
});
