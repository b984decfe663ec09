import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createGateway } from "@calotype/core";
import { expect, it, onTestFinished } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";

it("a caller whose row was damaged by hand, or written by a newer version, locks out no other caller", async () => {
  const folder = mkdtempSync(join(tmpdir(), "calotype-callers-"));
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ path });
  const gateway = createGateway({
    models: { "image-max": { family: "qwen-image" } },
    channels: [{ id: "none", family: "qwen-image", apiKey: "none" }],
    callers: [],
    ledger,
    logger: { warn: () => undefined, error: () => undefined },
  });
  onTestFinished(async () => {
    await gateway.close();
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
  const keys: Record<string, string> = {};
  for (const id of ["cut", "good", "newer", "typo"]) keys[id] = (await gateway.callers.create({ id })).key;
  const database = new DatabaseSync(path);
  const damage = database.prepare("UPDATE callers SET settings = ? WHERE id = ?");
  damage.run('{"version":1,"budg', "cut");
  damage.run('{"version":2,"budget":{"amount":"5","period":"month"}}', "newer");
  damage.run('{"version":1,"limits":{"concurent":1}}', "typo");
  database.close();

  const ask = async (id: string): Promise<number> => {
    const headers = { authorization: `Bearer ${keys[id]}` };
    return (await gateway.fetch(new Request("http://localhost/v1/models", { headers }))).status;
  };
  expect(await Promise.all(["cut", "good", "newer", "typo"].map(ask))).toEqual([500, 200, 500, 500]);
  const { callers } = await gateway.callers.list();
  expect(callers.map(({ id, state }) => `${id} ${state}`)).toEqual([
    "cut damaged",
    "good active",
    "newer damaged",
    "typo damaged",
  ]);
});
