// Measures the page Usage of the studio in Chromium, with a million records: npm run bench:studio -- sqlite postgres
// `sqlite=FILE` keeps the records in a file, for the next time.
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createGateway } from "@calotype/core";
import type { HistoryLedger } from "@calotype/core/stores";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { createStudio } from "@calotype/studio";
import packed from "@sparticuz/chromium";
import { Pool } from "pg";
import { type Browser, chromium, type Page, type Request } from "playwright-core";
import { measureCost } from "./measure-cost.ts";
import { fillPostgres, fillSqlite } from "./million-records.ts";
import { medianOf } from "./statistics.ts";

const ROUNDS = 5;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** What a person does on the page, in this order. Each begins where the one before ended. */
const ACTIONS: Readonly<Record<string, (page: Page, url: string) => Promise<unknown>>> = {
  "First view: 7 days by caller": (page, url) => page.goto(url),
  "By model": (page) => page.getByRole("button", { name: "Model", exact: true }).click(),
  "By end user, from 70,000 records": (page) => page.getByRole("button", { name: "End user" }).click(),
  "One end user": (page) => page.locator(".section").first().locator("tbody a").first().click(),
  Back: (page) => page.goBack(),
  "Only failures": (page) => page.getByLabel("Result", { exact: true }).selectOption("failed"),
  "All results": (page) => page.goBack(),
  "30 days by caller": async (page, url) => {
    await page.goto(`${url}?period=30d`);
  },
  "One day of the chart": async (page) => {
    await page.getByRole("slider").press("End");
    await page.keyboard.press("Enter");
  },
  "30 days again": (page) => page.goBack(),
  "Sorted by charge": (page) => page.getByLabel("Sort by").selectOption("charge"),
  "Its next page": (page) => page.getByRole("button", { name: "More" }).click(),
  "A request": (page) => page.locator("tbody a.mono").first().click(),
  "By end user, from 300,000 records": async (page, url) => {
    await page.goto(`${url}?period=30d&by=endUser`);
  },
};

async function measurePage(name: string, browser: Browser, ledger: HistoryLedger): Promise<void> {
  const gateway = createGateway({
    models: { "seedream-4-0-250828": { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "unused" }],
    callers: [{ id: "tester", key: "unused-caller-key" }],
    ledger,
  });
  const server = createServer(toNodeHandler(createStudio(gateway, { authorize: () => "admin" })));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a socket of TCP
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = await browser.newContext({ locale: "en-US", viewport: { width: 1280, height: 900 } });
  try {
    const page = await context.newPage();
    const watched = watchCalls(page);
    const times = new Map<string, number[]>();
    const blocks = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const [title, act] of Object.entries(ACTIONS)) {
        let took = 0;
        const { longestTurn } = await measureCost(async () => {
          took = await watched.measure(() => act(page, `${origin}/studio/usage`));
        });
        times.set(title, [...(times.get(title) ?? []), took]);
        blocks.set(title, Math.max(blocks.get(title) ?? 0, longestTurn));
      }
    }
    for (const [title, all] of times) {
      const block =
        name === "SQLite"
          ? `; longest turn of the process: ${blocks.get(title)?.toFixed(0)} ms of the CPU`
          : "";
      say(`${name}: ${title}: ${medianOf(all).toFixed(0)} ms${block}`);
    }
    const began = performance.now();
    const day = 86_400_000;
    const query = new URLSearchParams({ format: "csv", from: new Date(Date.now() - 30 * day).toISOString() });
    const bytes = (
      await (await fetch(`${origin}/studio/api/records/export?${query.toString()}`)).arrayBuffer()
    ).byteLength;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    say(`${name}: export of 100,000 records as CSV, ${(bytes / 1e6).toFixed(0)} MB: ${seconds} s`);
  } finally {
    await context.close();
    server.close();
    await gateway.close();
  }
}

const isCall = (url: string): boolean => url.includes("/studio/api/");

/** Measures from an action to the picture after the last response that it has asked for. */
function watchCalls(page: Page): { readonly measure: (act: () => Promise<unknown>) => Promise<number> } {
  const open = new Set<Request>();
  let endedAt = 0;
  page.on("request", (request) => {
    if (isCall(request.url())) open.add(request);
  });
  const end = (request: Request): void => {
    if (open.delete(request)) endedAt = performance.now();
  };
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  return {
    async measure(act) {
      const began = performance.now();
      await act();
      // An action may ask for something only after its first response.
      do {
        await page.evaluate("new Promise((resolve) => setTimeout(resolve, 250))");
      } while (open.size > 0);
      const painting = performance.now();
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
      return Math.max(endedAt, began) - began + performance.now() - painting;
    },
  };
}

async function measureSqlite(browser: Browser, file: string | undefined): Promise<void> {
  const path = file ?? join(mkdtempSync(join(tmpdir(), "calotype-studio-")), "ledger.db");
  try {
    if (!existsSync(path)) await fillSqlite(path, Date.now());
    const ledger = createSqliteLedger({ path });
    await countOld(ledger);
    await measurePage("SQLite", browser, ledger);
    await ledger.close();
  } finally {
    if (file === undefined) rmSync(dirname(path), { recursive: true });
  }
}

async function measurePostgres(browser: Browser): Promise<void> {
  const url = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";
  const pool = new Pool({ connectionString: url });
  const schema = `calotype_studio_${randomUUID()}`;
  try {
    await fillPostgres(pool, schema, Date.now());
    const ledger = createPostgresLedger({ pool, schema, timeoutSeconds: 60 });
    await ledger.ready();
    await countOld(ledger);
    await pool.query(`VACUUM ANALYZE "${schema}".records, "${schema}".hourly_totals`);
    await measurePage("PostgreSQL", browser, ledger);
    await ledger.close();
  } finally {
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  }
}

/** The records are those of an older version: the first report counts them. */
async function countOld({ history }: HistoryLedger): Promise<void> {
  await history.series({ from: "2026-01-01T00:00:00Z", to: "2026-01-01T01:00:00Z" });
}

const chosen = new Map(process.argv.slice(2).map((text) => [text.split("=")[0], text.split("=")[1]]));
const browser = await chromium.launch({
  executablePath: process.env["CALOTYPE_CHROMIUM"] ?? (await packed.executablePath()),
  chromiumSandbox: false,
  args: ["--disable-gpu"],
});
try {
  if (chosen.size === 0 || chosen.has("sqlite")) await measureSqlite(browser, chosen.get("sqlite"));
  if (chosen.size === 0 || chosen.has("postgres")) await measurePostgres(browser);
} finally {
  await browser.close();
}
