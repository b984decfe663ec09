import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UsageRecord } from "@calotype/core";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordOf, unresolvedOf } from "../ledger-suite/entries.js";
import { findFreePort } from "../support/find-free-port.js";
import { loadRecipe } from "./load-recipe.js";

/* Runs the code of docs/recipes/nats.md with `nats-server` (Debian: `apt-get install nats-server`), or the program NATS_SERVER. */

interface Recipe {
  openUsageStream(servers: string): Promise<{
    onUsageBatch(records: readonly UsageRecord[]): Promise<void>;
    close(): Promise<void>;
  }>;
}

const idsOf = (records: readonly UsageRecord[], caller: string): string[] =>
  records.filter((record) => record.caller === caller).map(({ id, state }) => `${id} ${state}`);

const PROGRAM = process.env["NATS_SERVER"] ?? "nats-server";
const isThere = spawnSync(PROGRAM, ["--version"]).status === 0;
if (!isThere) {
  const notice = `needs ${PROGRAM}, which is not there; NATS_SERVER names another one`;
  if (process.env["CI"] === "true") throw new Error(`This test file ${notice}.`);
  process.stderr.write(`Left out: what ${notice}.\n`);
}

describe.runIf(isThere)("the recipe for NATS JetStream", () => {
  const folder = mkdtempSync(join(tmpdir(), "calotype-nats-"));
  let server: ChildProcess | undefined;
  let url = "";
  let recipe: Recipe;

  const start = async (port: number): Promise<void> => {
    server = spawn(PROGRAM, ["-js", "-a", "127.0.0.1", "-p", String(port), "-sd", folder], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    for await (const chunk of server.stderr ?? []) {
      log += String(chunk);
      if (log.includes("Server is ready")) return;
    }
    throw new Error(`nats-server did not start: ${log}`);
  };
  const stop = async (): Promise<void> => {
    server?.kill("SIGKILL");
    if (server?.exitCode === null && server.signalCode === null) await once(server, "exit");
  };

  /** What the stream has stored, in its order. */
  const readStored = async (): Promise<UsageRecord[]> => {
    const connection = await connect({ servers: url });
    const manager = await jetstreamManager(connection);
    const { state } = await manager.streams.info("USAGE");
    const records: UsageRecord[] = [];
    for (let seq = 1; seq <= state.last_seq; seq++) {
      const message = await manager.streams.getMessage("USAGE", { seq });
      if (message !== null) records.push(message.json<UsageRecord>());
    }
    await connection.close();
    return records;
  };

  beforeAll(async () => {
    const port = await findFreePort();
    url = `nats://127.0.0.1:${port}`;
    await start(port);
    recipe = (await loadRecipe("docs/recipes/nats.md", "nats-usage.ts")) as Recipe;
  });
  afterAll(async () => {
    await stop();
    rmSync(folder, { recursive: true });
  });

  it("stores each record once, in the order of each caller, also when a batch comes again and after a restart", async () => {
    const records = Array.from({ length: 40 }, (_, at) =>
      recordOf({ id: `req_${String(at).padStart(2, "0")}`, caller: at % 2 === 0 ? "a" : "b" }),
    );
    const first = await recipe.openUsageStream(url);
    await first.onUsageBatch(records.slice(0, 20));
    // Its acknowledgement was lost.
    await first.onUsageBatch(records.slice(0, 30));
    await first.close();
    // The process was started again.
    const second = await recipe.openUsageStream(url);
    await second.onUsageBatch(records.slice(10));
    await second.close();
    const stored = await readStored();
    expect(stored).toHaveLength(40);
    for (const caller of ["a", "b"]) {
      expect(idsOf(stored, caller)).toEqual(idsOf(records, caller));
    }
  });

  it("stores a correction of an unresolved record too", async () => {
    const stream = await recipe.openUsageStream(url);
    const id = "req_corrected";
    await stream.onUsageBatch([unresolvedOf({ id, caller: "c" })]);
    await stream.onUsageBatch([unresolvedOf({ id, caller: "c" }), recordOf({ id, caller: "c" })]);
    await stream.close();
    expect(idsOf(await readStored(), "c")).toEqual([`${id} unresolved`, `${id} settled`]);
  });

  it("fails while the server cannot be reached, and stores everything once when it is back", async () => {
    const stream = await recipe.openUsageStream(url);
    await stream.onUsageBatch([recordOf({ id: "req_d1", caller: "d" })]);
    await stop();
    await expect(
      stream.onUsageBatch([recordOf({ id: "req_d1", caller: "d" }), recordOf({ id: "req_d2", caller: "d" })]),
    ).rejects.toThrow(/timeout|closed|disconnect/i);
    await start(Number(new URL(url).port));
    const again = await recipe.openUsageStream(url);
    await again.onUsageBatch([
      recordOf({ id: "req_d1", caller: "d" }),
      recordOf({ id: "req_d2", caller: "d" }),
    ]);
    await again.close();
    await stream.close();
    expect(idsOf(await readStored(), "d")).toEqual(["req_d1 settled", "req_d2 settled"]);
  }, 60_000);
});
