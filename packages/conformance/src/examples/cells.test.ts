import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findCell } from "@calotype/core/operator";
import { createPostgresLedger } from "@calotype/postgres";
import OpenAI, { APIError } from "openai";
import { Pool } from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { runCommand } from "../ledger-command/run-command.js";
import { POSTGRES_PROGRAMS } from "../postgres/postgres-server.js";
import { describeWithServices, type Service } from "../support/needs-service.js";
import { REDIS_SERVER } from "../support/redis-server.js";
import { canUse, urlOf } from "../support/service.js";
import { useProviders } from "../support/use-providers.js";
import { ROOT } from "../support/workspace.js";
import { startExample } from "./start-example.js";

const MODEL = "seedream-4-0-250828";
const CELLS = ["cell-1", "cell-2"];
const NGINX: Service = {
  name: "nginx",
  variable: "NGINX_PROGRAM",
  url: "/usr/sbin/nginx",
  isOptional: true,
  probe: async (program) => {
    if (spawnSync(program, ["-v"]).status !== 0) throw new Error(`${program} does not run.`);
  },
};

function findCallerOf(cell: string, from = 0): string {
  for (let at = from; ; at++) if (findCell(`customer-${at}`, CELLS) === cell) return `customer-${at}`;
}
const FIRST = findCallerOf("cell-1");
const SECOND = findCallerOf("cell-2");
/** Moved to the second cell. */
const MOVED = findCallerOf("cell-1", Number(FIRST.slice("customer-".length)) + 1);
const keyOf = (caller: string): string => `key-of-${caller}-4c1d2b`;

/** The price of one image of the model in the examples. */
const PRICE = 0.2;

const hasNginx = await canUse(NGINX, urlOf(NGINX));
await describeWithServices([REDIS_SERVER, POSTGRES_PROGRAMS], (redisServer, postgresPrograms) => {
  const providers = useProviders();

  it.runIf(hasNginx)(
    "two cells have separate databases, one goes on while the other is down, and a caller can be moved",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "calotype-example-"));
      chmodSync(folder, 0o755);
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const own = mkdtempSync(join(tmpdir(), "calotype-cells-"));
      onTestFinished(() => rmSync(own, { recursive: true }));
      const [cellsFile, callersFile] = [join(own, "cells.json"), join(own, "callers.json")];
      const plan = (moved: Readonly<Record<string, string>>): void =>
        writeFileSync(cellsFile, JSON.stringify({ cells: CELLS, moved }));
      plan({});
      const callers = [FIRST, SECOND, MOVED].map((id) => ({ id, key: keyOf(id), budget: "100" }));
      writeFileSync(callersFile, JSON.stringify(callers));

      const example = await startExample(join(ROOT, "examples/fleet/start.ts"), {
        TMPDIR: folder,
        REDIS_SERVER: redisServer,
        POSTGRES_PROGRAMS: postgresPrograms,
        NGINX_PROGRAM: urlOf(NGINX),
        REDIS_URL: "",
        DATABASE_URL: "",
        CELLS_FILE: cellsFile,
        CALLERS_FILE: callersFile,
        ARK_BASE_URL: providers().server.arkBaseUrl,
      });
      onTestFinished(async () => void (await example.stop()));
      const { baseUrl, lines } = example;
      const clientOf = (caller: string): OpenAI =>
        new OpenAI({ baseURL: baseUrl, apiKey: keyOf(caller), maxRetries: 0 });
      const generate = async (caller: string) =>
        await clientOf(caller).images.generate({ model: MODEL, prompt: "an oak" }).withResponse();
      const refusalOf = async (caller: string): Promise<APIError> => {
        const error = await generate(caller).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        if (error instanceof APIError) return error;
        throw new Error(`${caller} was not refused`);
      };
      // The line of the address comes first.
      const server = await vi.waitUntil(
        () => lines.flatMap((line) => /PostgreSQL +(postgres:\S+)/.exec(line)?.[1] ?? [])[0],
      );
      const ledgers = CELLS.map((cell) => {
        const url = new URL(server);
        url.pathname = `/${cell}`;
        const pool = new Pool({ connectionString: url.href });
        const ledger = createPostgresLedger({ pool });
        return { url: url.href, pool, ledger };
      });
      /** How many images each cell has charged to a caller. */
      const chargedTo = async (caller: string): Promise<number[]> =>
        await Promise.all(
          ledgers.map(async ({ ledger }) =>
            Math.round(Number((await ledger.balance(caller)).settled) / PRICE),
          ),
        );

      const served = await Promise.all([FIRST, SECOND, MOVED].map(generate));
      for (const { response } of served) await example.findRecord(response.headers.get("x-request-id"));
      expect(await Promise.all([FIRST, SECOND, MOVED].map(chargedTo))).toEqual([
        [1, 0],
        [0, 1],
        [1, 0],
      ]);

      const [from = "", to = ""] = ledgers.map(({ url }) => url);
      const copied = await runCommand("copy", "--from", from, "--to", to, "--caller", MOVED);
      expect(copied).toMatchObject({ code: 0, err: "" });
      expect(await refusalOf(MOVED)).toMatchObject({ status: 503, code: "gateway_unavailable" });
      plan({ [MOVED]: "cell-2" });
      await vi.waitFor(async () => expect((await generate(MOVED)).response.status).toBe(200));
      // Its balance has moved, and the old one stays where it was.
      expect(await chargedTo(MOVED)).toEqual([1, 2]);

      // Both gateways of the first cell are killed while the callers of both send requests.
      const stopping = new AbortController();
      const run = async (caller: string): Promise<string[]> => {
        const statuses: string[] = [];
        while (!stopping.signal.aborted) {
          statuses.push(
            await generate(caller).then(
              () => "200",
              (error: unknown) =>
                error instanceof APIError ? `${error.status} ${error.code}` : String(error),
            ),
          );
          await sleep(20);
        }
        return statuses;
      };
      const load = [run(FIRST), run(SECOND), run(MOVED)];
      await sleep(500);
      const pids = lines.flatMap((line) => /process (\d+)\) cell-1$/.exec(line)?.[1] ?? []);
      expect(pids).toHaveLength(2);
      for (const pid of pids) process.kill(Number(pid), "SIGKILL");
      await sleep(1_500);
      const refused = await refusalOf(FIRST);
      expect(refused).toMatchObject({ status: 503, code: "gateway_unavailable", type: "server_error" });
      expect(refused.headers?.get("retry-after")).toBe("2");
      stopping.abort();
      const [first = [], ...others] = (await Promise.all(load)).map((statuses) => [...new Set(statuses)]);
      expect(others).toEqual([["200"], ["200"]]);
      // Requests that were in progress got a 502 that says not to repeat them.
      expect(first.filter((status) => !/^(200|50[23] gateway_unavailable)$/.test(status))).toEqual([]);
      expect(first).toContain("503 gateway_unavailable");

      const wrong = new OpenAI({ baseURL: baseUrl, apiKey: "wrong", maxRetries: 0 });
      await expect(wrong.images.generate({ model: MODEL, prompt: "an oak" })).rejects.toMatchObject({
        status: 401,
        code: "invalid_api_key",
      });
      for (const { pool, ledger } of ledgers) {
        await ledger.close();
        await pool.end();
      }
      expect(await example.stop()).toBe(0);
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});
