import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway } from "@calotype/core";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { type ServerProcess, spawnServer } from "../support/spawn-server.js";
import type { LedgerPlan } from "./gateway-process.js";

const PROGRAM = new URL("gateway-process.ts", import.meta.url);
/** The requests of other tests delay responses. So the times of requests are compared, not those of responses. */
const PATIENCE = { timeout: 10_000, interval: 20 };
/** A request that is sent this long after a change must see it, in every process. */
const BOUND_MS = 1_000;

/** Other processes see what this one changes. */
function describeChanges(
  name: string,
  plans: () => readonly LedgerPlan[],
  openLedger: () => ReturnType<typeof createSqliteLedger>,
): void {
  describe(`a change of a caller ${name}`, () => {
    let processes: readonly ServerProcess[] = [];
    let ledger: ReturnType<typeof openLedger>;
    let gateway: Gateway;
    beforeAll(async () => {
      ledger = openLedger();
      gateway = createGateway({
        models: { "image-max": { family: "qwen-image" } },
        channels: [{ id: "none", family: "qwen-image", apiKey: "none" }],
        callers: [],
        ledger,
      });
      await ledger.balance("nobody");
      processes = await Promise.all(plans().map((plan) => spawnServer<LedgerPlan>(PROGRAM).start(plan)));
    });
    afterAll(async () => {
      await Promise.all(processes.map((running) => running.kill()));
      await gateway.close();
      await ledger.close();
    });

    /** The status and the models that each process shows to the holder of a key. */
    const ask = async (key: string): Promise<readonly string[]> =>
      await Promise.all(
        processes.map(async ({ url }) => {
          const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
          const { data = [] } = (await response.json()) as { data?: { id: string }[] };
          return [response.status, ...data.map(({ id }) => id)].join(" ");
        }),
      );
    const sees = async (key: string, expected: string): Promise<void> => {
      const changedAt = performance.now();
      let lastBefore = changedAt;
      await vi.waitFor(async () => {
        const sentAt = performance.now();
        const seen = await ask(key);
        if (seen.some((state) => state !== expected)) lastBefore = sentAt;
        expect(seen).toEqual(processes.map(() => expected));
      }, PATIENCE);
      expect(lastBefore - changedAt).toBeLessThan(BOUND_MS);
    };

    it("takes effect within a second in every process: create, change, rotate and revoke", async () => {
      // The first question opens the ledger, which may need longer than a request waits.
      await vi.waitFor(
        async () => expect(await ask("unknown")).toEqual(processes.map(() => "401")),
        PATIENCE,
      );
      const { key } = await gateway.callers.create({ id: "shop" });
      await sees(key, "200 image-max image-plus");
      await gateway.callers.change("shop", { models: ["image-plus"] });
      await sees(key, "200 image-plus");
      const { key: second } = await gateway.callers.rotate("shop", { overlapSeconds: 3_600 });
      await sees(second, "200 image-plus");
      expect(await ask(key)).toEqual(processes.map(() => "200 image-plus"));
      const { key: third } = await gateway.callers.rotate("shop", { overlapSeconds: 0.5 });
      await sees(key, "401");
      await sees(second, "401");
      expect(await ask(third)).toEqual(processes.map(() => "200 image-plus"));
      await gateway.callers.revoke("shop");
      await sees(third, "401");
    });
  });
}

const folder = mkdtempSync(join(tmpdir(), "calotype-callers-"));
const path = join(folder, "ledger.db");
afterAll(() => rmSync(folder, { recursive: true }));
describeChanges(
  "in a file of SQLite",
  () => [
    { kind: "sqlite", path },
    { kind: "sqlite", path },
  ],
  () => createSqliteLedger({ path }),
);

await describeWithService(POSTGRES, (url) => {
  const { pool, schema } = useTestSchema(url);
  describeChanges(
    "in PostgreSQL, with and without notifications",
    () => [
      { kind: "postgres", url, schema, connections: 4 },
      { kind: "postgres", url, schema, connections: 1 },
    ],
    () => createPostgresLedger({ pool, schema }),
  );
});
