import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createGateway, type Gateway, type UsageRecord } from "@calotype/core";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadRecipe } from "../recipes/load-recipe.js";
import { listen } from "../support/listen.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { SEEDREAM } from "../support/test-gateway.js";
import { isFull } from "../support/test-run.js";
import type { FullLedger } from "./fill-ledger.js";
import { at, createFolder, type LedgerPlace, nameSchema, runCommand, startCommand } from "./run-command.js";

const PRICE = "0.03";
const PATIENCE = { timeout: 90_000, interval: 20 };

interface CellRecipe {
  readonly moved: Map<string, string>;
  cellOf(caller: string): string;
}

/** Two cells, each a ledger with two gateways, as two processes would be. */
interface Cell {
  readonly place: LedgerPlace;
  readonly ledger: FullLedger;
  readonly gateways: readonly Gateway[];
}

const openSqlite = (): { place: LedgerPlace; open: () => FullLedger } => {
  const path = join(createFolder(), "cell.db");
  return { place: { ledger: path }, open: () => createSqliteLedger({ path }) };
};

/** What this number of images costs. */
const priceOf = (images: number): string => String((images * 3) / 100);

await describeWithService(POSTGRES, (url) => {
  const openPostgres = (): { place: LedgerPlace; open: () => FullLedger } => {
    const place = nameSchema(url);
    const pool = new Pool({ connectionString: place.ledger });
    onTestFinished(() => pool.end());
    return { place, open: () => createPostgresLedger({ pool, schema: place.schema }) };
  };
  function startCell(
    baseUrl: string,
    logged: object[],
    { place, open }: ReturnType<typeof openPostgres>,
  ): Cell {
    const ledgers = [open(), open()];
    const gateways = ledgers.map((ledger) =>
      createGateway({
        models: { [SEEDREAM]: { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: "channel-canary", baseUrl }],
        callers: [],
        billing: { model_details: { [SEEDREAM]: { pricing_mode: "per-request", model_price: PRICE } } },
        ledger,
        logger: { warn() {}, error: (fields) => logged.push(fields) },
      }),
    );
    onTestFinished(async () => {
      await Promise.all(gateways.map((gateway) => gateway.close()));
      await Promise.all(ledgers.map((ledger) => ledger.close()));
    });
    const [ledger] = ledgers;
    if (ledger === undefined) throw new Error("A cell has ledgers.");
    return { place, ledger, gateways };
  }

  describe.each([
    ["PostgreSQL to PostgreSQL", openPostgres],
    ["SQLite to PostgreSQL", openSqlite],
  ])("a caller under load moves from %s", (_name, openSource) => {
    it.runIf(isFull() || openSource === openPostgres)(
      "without losing a hold or a charge, and gets a 503 meanwhile",
      async () => {
        const provider = await listen((request, response) => {
          request.resume();
          setTimeout(() => {
            response.setHeader("content-type", "application/json");
            response.end(
              JSON.stringify({ data: [{ url: "https://ark.test/1.png" }], usage: { generated_images: 1 } }),
            );
          }, 30);
        });
        onTestFinished(() => provider.close());
        const logged: { readonly requestId?: string; readonly err?: unknown }[] = [];
        const from = startCell(`${provider.url}/api/v3`, logged, openSource());
        const to = startCell(`${provider.url}/api/v3`, logged, openPostgres());
        const recipe = (await loadRecipe("docs/recipes/moving-a-caller.md", "cell-of.ts")) as CellRecipe;
        // Both tests get the same module.
        recipe.moved.clear();
        const [mover = "", other = ""] = [
          "customer-1",
          "customer-2",
          "customer-3",
          "customer-4",
          "customer-5",
        ].filter((id) => recipe.cellOf(id) === "cell-1");
        // The tables exist before requests come.
        for (const gateway of [...from.gateways, ...to.gateways]) await gateway.callers.list({ limit: 1 });
        const cellOf = (caller: string): Cell => (recipe.cellOf(caller) === "cell-1" ? from : to);
        const keys = new Map<string, string>();
        for (const id of [mover, other]) {
          const { key } = (await from.gateways[0]?.callers.create({ id, budget: "1000" })) ?? { key: "" };
          keys.set(id, key);
        }

        const responses: {
          readonly caller: string;
          readonly status: number;
          readonly body: string;
          readonly isMoved: boolean;
          readonly id: string | undefined;
        }[] = [];
        const ending = new AbortController();
        const send = async (caller: string, client: number): Promise<void> => {
          while (!ending.signal.aborted) {
            const isMoved = recipe.moved.has(mover);
            const response = await cellOf(caller).gateways[client % 2]?.fetch(
              new Request("http://gateway.test/v1/images/generations", {
                method: "POST",
                headers: { authorization: `Bearer ${keys.get(caller)}`, "content-type": "application/json" },
                body: JSON.stringify({ model: SEEDREAM, prompt: "An oak tree" }),
              }),
            );
            responses.push({
              caller,
              status: response?.status ?? 0,
              body: (await response?.text()) ?? "",
              isMoved,
              id: response?.headers.get("x-request-id") ?? undefined,
            });
            if (response?.status !== 200) await sleep(20);
          }
        };
        const clients = Array.from({ length: 8 }, (_, client) =>
          send(client % 4 === 0 ? other : mover, client),
        );
        const countOf = (caller: string, status: number, isMoved?: boolean): number =>
          responses.filter(
            (one) =>
              one.caller === caller &&
              one.status === status &&
              (isMoved === undefined || one.isMoved === isMoved),
          ).length;
        await expect.poll(() => countOf(mover, 200), PATIENCE).toBeGreaterThan(20);

        const words = ["copy", ...at("from", from.place), ...at("to", to.place), "--caller", mover];
        const copied = await runCommand(...words, "--wait", "90");
        expect(copied).toMatchObject({ code: 0, err: "" });
        await expect.poll(() => countOf(mover, 503), PATIENCE).toBeGreaterThan(0);
        const charged = countOf(mover, 200);
        recipe.moved.set(mover, "cell-2");
        await expect.poll(() => countOf(mover, 200, true), PATIENCE).toBeGreaterThan(20);
        ending.abort();
        await Promise.all(clients);

        // Nothing else than images and 503, also on a machine that is too slow for its databases. The command stopped one caller only.
        expect(responses.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
        const stopped = new Set(
          logged.flatMap(({ requestId, err }) =>
            String(err).includes("calotype-ledger") ? [requestId] : [],
          ),
        );
        const refused = responses.filter(({ id }) => stopped.has(id));
        expect(refused.length).toBeGreaterThan(0);
        for (const { caller, body } of refused) {
          expect(caller).toBe(mover);
          expect(JSON.parse(body)).toMatchObject({
            error: {
              code: "gateway_unavailable",
              message: expect.stringContaining("try again. Nothing was sent or charged"),
            },
          });
        }
        // Each image is charged once: those of before in both ledgers, those of after in the new one.
        const all = countOf(mover, 200);
        expect(all).toBeGreaterThan(charged);
        expect(await from.ledger.balance(mover)).toEqual({ settled: priceOf(charged), held: "0" });
        expect(await to.ledger.balance(mover)).toEqual({ settled: priceOf(all), held: "0" });
        expect(await from.ledger.balance(other)).toEqual({
          settled: priceOf(countOf(other, 200)),
          held: "0",
        });
        const records: UsageRecord[] = [];
        for await (const record of to.ledger.records({ caller: mover })) records.push(record);
        expect(records.filter(({ state }) => state === "settled")).toHaveLength(all);
        for (const { place } of [from, to]) {
          expect(await runCommand("check", ...at("ledger", place))).toMatchObject({ code: 0, err: "" });
        }
        // Run again, it changes nothing.
        expect(await runCommand(...words)).toMatchObject({
          code: 0,
          out: expect.stringContaining("copied before"),
        });
        expect(await to.ledger.balance(mover)).toEqual({ settled: priceOf(all), held: "0" });
      },
    );
  });

  describe("a move", () => {
    const HOLD = {
      time: "2026-10-30T22:15:00.000Z",
      caller: "shop",
      group: "default",
      model: SEEDREAM,
      operation: "generate",
      amount: "0.5",
      ttlMs: 600_000,
    } as const;
    const charge = async (ledger: FullLedger, id: string, caller = "shop"): Promise<void> => {
      const hold = { ...HOLD, id, caller };
      expect(await ledger.hold(hold)).toEqual({ ok: true });
      const { amount: _amount, ttlMs: _ttlMs, ...facts } = hold;
      const sentTo = { state: "settled", channel: "ark", upstreamModel: "ep-1", status: 200 } as const;
      await ledger.settle({ ...facts, ...sentTo, images: 1, charge: "0.25", durationMs: 900 });
    };

    it("waits for holds, can be given up, and leads back", async () => {
      const [one, two] = [openPostgres(), openPostgres()];
      const [source, target] = [one.open(), two.open()];
      onTestFinished(async () => void (await Promise.all([source.close(), target.close()])));
      await charge(source, "req_1");
      await charge(source, "req_2", "other");
      await charge(target, "req_3", "resident");
      await source.hold({ ...HOLD, id: "req_open" });
      const there = ["copy", ...at("from", one.place), ...at("to", two.place), "--caller", "shop"];
      const back = ["copy", ...at("from", two.place), ...at("to", one.place), "--caller", "shop"];

      // With a hold nothing moves, and the source takes requests as before.
      const open = await runCommand(...there);
      expect(open).toMatchObject({ code: 1, out: "" });
      expect(open.err).toContain('has 1 open hold for the caller "shop"');
      await charge(source, "req_4");
      // While it waits, no hold is made. If it is killed then, it can be given up.
      const { child, ended } = startCommand([...there, "--wait", "90"]);
      const isRefused = async (id: string): Promise<boolean> => {
        const isMade = await source.hold({ ...HOLD, id }).then(
          () => true,
          () => false,
        );
        if (isMade) await source.release(id);
        return !isMade;
      };
      await expect.poll(() => isRefused("req_probe"), PATIENCE).toBe(true);
      child.kill("SIGKILL");
      await ended;
      expect(await isRefused("req_probe")).toBe(true);
      expect(await runCommand(...there, "--undo")).toMatchObject({ code: 0, err: "" });
      expect(await isRefused("req_probe")).toBe(false);
      await source.release("req_open");
      expect((await runCommand(...there.slice(0, -1), "nobody")).err).toContain(
        'has nothing of the caller "nobody"',
      );
      expect((await runCommand(...there.slice(0, -1), "other", "--undo")).err).toContain("was interrupted");

      expect(await runCommand(...there)).toMatchObject({ code: 0, err: "" });
      await expect(source.hold({ ...HOLD, id: "req_5" })).rejects.toThrow("moved to another one");
      // Others are not affected, also in the same batch.
      const [refused, made] = await Promise.allSettled([
        source.hold({ ...HOLD, id: "req_6" }),
        source.hold({ ...HOLD, id: "req_7", caller: "other" }),
      ]);
      expect([refused.status, made.status]).toEqual(["rejected", "fulfilled"]);
      await charge(target, "req_8");
      expect(await target.balance("shop")).toEqual({ settled: "0.75", held: "0" });
      expect((await runCommand(...there, "--undo")).err).toContain("was moved completely");
      const toItself = ["copy", ...at("from", two.place), ...at("to", two.place), "--caller", "shop"];
      expect((await runCommand(...toItself, "--undo")).err).toContain("are the same");
      expect((await runCommand(...toItself)).err).toContain("are the same");

      expect((await runCommand(...back)).err).toContain("--replace removes them");
      // One that is killed while it waits can be given up too. The rows from before stay, and so does the caller.
      await target.hold({ ...HOLD, id: "req_late" });
      const killed = startCommand([...back, "--replace", "--wait", "90"]);
      const isStopped = async (): Promise<boolean> => {
        const [probe] = await Promise.allSettled([target.hold({ ...HOLD, id: "req_probe_2" })]);
        if (probe.status === "fulfilled") await target.release("req_probe_2");
        return probe.status === "rejected";
      };
      await expect.poll(isStopped, PATIENCE).toBe(true);
      killed.child.kill("SIGKILL");
      await killed.ended;
      expect(await runCommand(...back, "--undo")).toMatchObject({ code: 0, err: "" });
      expect(await isStopped()).toBe(false);
      await expect(source.hold({ ...HOLD, id: "req_6" })).rejects.toThrow("moved to another one");
      expect((await runCommand(...back, "--undo")).err).toContain("was interrupted");
      await target.release("req_late");
      expect(await source.balance("shop")).toEqual({ settled: "0.5", held: "0" });
      expect(await runCommand(...back, "--replace")).toMatchObject({ code: 0, err: "" });
      await charge(source, "req_9");
      expect(await source.balance("shop")).toEqual({ settled: "1", held: "0" });
      await expect(target.hold({ ...HOLD, id: "req_10" })).rejects.toThrow("moved to another one");
      // The rows that a move has left must not become another ledger.
      const obsolete = [
        "copy",
        ...at("from", two.place),
        ...at("to", openPostgres().place),
        "--caller",
        "shop",
      ];
      expect((await runCommand(...obsolete)).err).toContain("was moved away from");
      expect((await runCommand(...there, "--replace")).err).toBe("");
      expect((await runCommand(...there, "--replace")).out).toContain("copied before");
      expect(await runCommand(...back, "--replace")).toMatchObject({ code: 0, err: "" });
      expect((await runCommand(...there)).err).toContain("--replace removes them");
      await charge(target, "req_11", "resident");
      await source.release("req_7");
      for (const { place } of [one, two]) {
        expect(await runCommand("check", ...at("ledger", place))).toMatchObject({ code: 0, err: "" });
      }
    });
  });
});
