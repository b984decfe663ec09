import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { listen } from "../support/listen.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { spawnServer } from "../support/spawn-server.js";
import { type JobLedgerPlan, type JobPlan, openPlannedLedger } from "./job-server.js";

const PROGRAM = new URL("job-server.ts", import.meta.url);
const CALLER_KEY = "caller-canary-8c33f0";
const PATIENCE = { timeout: 20_000, interval: 20 };

/** A provider that works with jobs. They are done when the test says so. */
async function startProvider() {
  const submitted: string[] = [];
  const polls = new Map<string, number>();
  let isDone = false;
  const { url, close } = await listen((request, response) => {
    const job = /\/jobs\/(.+)$/.exec(request.url ?? "")?.[1];
    response.setHeader("content-type", "application/json");
    if (job === undefined) {
      const id = `t${submitted.length}`;
      submitted.push(id);
      // The gateway has sent the whole request.
      request.resume().on("end", () => response.end(JSON.stringify({ job_id: id })));
      return;
    }
    polls.set(job, (polls.get(job) ?? 0) + 1);
    const result = { data: [{ url: `https://images.example/${job}.png` }], usage: { generated_images: 1 } };
    response.end(JSON.stringify(isDone ? result : { status: "pending" }));
  });
  onTestFinished(close);
  return {
    url,
    submitted,
    /** Resolves when this number of jobs was polled since the last call. */
    async polled(count: number): Promise<void> {
      polls.clear();
      await vi.waitFor(() => expect(polls.size).toBe(count), PATIENCE);
    },
    finish: () => void (isDone = true),
  };
}

function openSqlite(): (aheadMs: number) => JobLedgerPlan {
  const folder = mkdtempSync(join(tmpdir(), "calotype-upstream-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return (aheadMs) => ({ aheadMs, path: join(folder, "ledger.db") });
}

/** Opens a schema of its own for each test. */
function openPostgres(url: string): (aheadMs: number) => JobLedgerPlan {
  const schema = `calotype_test_${randomUUID()}`;
  onTestFinished(async () => {
    const pool = new Pool({ connectionString: url });
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  });
  return (aheadMs) => ({ aheadMs, url, schema });
}

/** What became of a task of the gateway with two images, and of ordinary requests with one and three. */
const SETTLED = {
  submitted: 6,
  task: "completed",
  balance: { settled: "0.6", held: "0" },
  records: [
    { state: "settled", images: 1, charge: "0.1" },
    { state: "settled", images: 2, charge: "0.2" },
    { state: "settled", images: 3, charge: "0.3" },
  ],
  errors: [],
};

describe("a server that is killed while it waits for its provider's jobs is continued, twice, and submits nothing twice", () => {
  it("on SQLite", async () => {
    expect(await killTwice(openSqlite())).toEqual(SETTLED);
  });
});

await describeWithService(POSTGRES, (url) => {
  it("a server that is killed while it waits for its provider's jobs is continued there too", async () => {
    expect(await killTwice(openPostgres(url))).toEqual(SETTLED);
  });
});

async function post(url: string, n: number, headers = {}): Promise<Response> {
  return await fetch(`${url}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "picture", prompt: "a kite", n }),
  });
}

/** Kills two servers while they wait, and lets a third one end everything. */
async function killTwice(planLedger: (aheadMs: number) => JobLedgerPlan): Promise<object> {
  const provider = await startProvider();
  const plan = (starts: number): JobPlan => ({
    ledger: planLedger(starts * 60_000),
    baseUrl: provider.url,
    callerKey: CALLER_KEY,
  });
  const first = spawnServer<JobPlan>(PROGRAM);
  const second = spawnServer<JobPlan>(PROGRAM);
  const third = spawnServer<JobPlan>(PROGRAM);
  onTestFinished(async () => void (await Promise.all([first, second, third].map((server) => server.kill()))));
  const { url } = await first.start(plan(0));
  const accepted = await post(url, 2, { prefer: "respond-async" });
  expect(accepted.status).toBe(202);
  const { id } = (await accepted.json()) as { readonly id: string };
  const cutOff = Promise.allSettled([post(url, 1), post(url, 3)]);
  await vi.waitFor(() => expect(provider.submitted).toHaveLength(6), PATIENCE);
  await provider.polled(6);
  await first.kill();
  expect((await cutOff).map(({ status }) => status)).toEqual(["rejected", "rejected"]);

  await second.start(plan(1));
  await provider.polled(6);
  await second.kill();
  provider.finish();
  const last = await third.start(plan(2));
  const ledger = openPlannedLedger(planLedger(2 * 60_000));
  onTestFinished(() => ledger.close());
  await vi.waitFor(async () => expect(await ledger.balance("tester")).toMatchObject({ held: "0" }), PATIENCE);

  const records = await readRecords(ledger);
  return {
    submitted: provider.submitted.length,
    task: (await ledger.tasks.find("tester", id))?.status,
    balance: await ledger.balance("tester"),
    records: records
      .map(({ state, images, charge }) => ({ state, images, charge }))
      .toSorted((one, other) => one.images - other.images),
    errors: last.errors(),
  };
}
