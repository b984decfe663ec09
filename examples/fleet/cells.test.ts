import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, createMemoryLedger, hashApiKey } from "@calotype/core";
import { findCell } from "@calotype/core/operator";
import { toNodeHandler } from "@calotype/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkPlan, joinCells } from "./cells.ts";
import { findPort } from "./program.ts";
import { findNginx, startNginx } from "./start-nginx.ts";

const CELLS = ["cell-1", "cell-2"] as const;

function findCallerOf(cell: string): string {
  for (let at = 0; ; at++) if (findCell(`customer-${at}`, CELLS) === cell) return `customer-${at}`;
}
const FIRST = findCallerOf("cell-1");
const SECOND = findCallerOf("cell-2");
/** Of the first cell by its hash. */
const MOVED = `${FIRST}:moved`;
const CALLERS = [
  { id: FIRST, key: "key-first" },
  { id: SECOND, hash: hashApiKey("key-second").toUpperCase() },
  { id: MOVED, key: "key-moved" },
];
const PLAN = { cells: CELLS, moved: { [MOVED]: "cell-2" } };

const RESPONSE = {
  model: "ep-1",
  created: 1_763_683_200,
  data: [{ url: "https://ark.test/1.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

/** The only gateway of a cell, in this process. */
async function startCell(path: string, own: string) {
  const ledger = createMemoryLedger();
  const cells = await joinCells({ path, own, callers: CALLERS });
  const gateway = createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
    billing: { model_details: { doodle: { pricing_mode: "per-request", model_price: "1" } } },
    authenticate: cells.authenticate,
    ledger,
    logger: { warn: () => undefined, error: () => undefined },
    fetch: async () => Response.json(RESPONSE),
  });
  const respond = toNodeHandler(gateway);
  const server = createServer((req, res) => {
    if (req.url === "/cell") cells.respond(req, res);
    else if (req.url === "/v1/break") req.socket.destroy();
    else respond(req, res);
  });
  const port = await findPort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    cells.close();
    await stop(server);
    await gateway.close();
  };
  const settledOf = async (caller: string): Promise<string> => (await ledger.balance(caller)).settled;
  return { port, server, settledOf, close };
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

function send(port: number, key: string, path = "/v1/images/generations"): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: { authorization: `bearer  ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "doodle", prompt: "an oak" }),
  });
}

const nginx = findNginx();
if (nginx === undefined) process.stderr.write("Left out: what needs nginx.\n");

describe.runIf(nginx)("two cells behind nginx", () => {
  const folder = mkdtempSync(join(tmpdir(), "calotype-cells-"));
  const path = join(folder, "cells.json");
  const ends: (() => Promise<void>)[] = [];
  let cells: Awaited<ReturnType<typeof startCell>>[] = [];
  let port = 0;
  beforeAll(async () => {
    writeFileSync(path, JSON.stringify(PLAN));
    cells = await Promise.all(CELLS.map((cell) => startCell(path, cell)));
    port = await findPort();
    const gateways = cells.flatMap((cell) => [cell.port, cell.port]);
    const proxy = await startNginx(nginx ?? "", folder, { port, gateways }, "nginx-cells.conf");
    ends.push(proxy.stop, ...cells.map(({ close }) => close));
  });
  afterAll(async () => {
    for (const end of ends) await end();
    rmSync(folder, { recursive: true });
  });

  const settled = async (caller: string) => await Promise.all(cells.map((cell) => cell.settledOf(caller)));

  it.each([
    ["findCell finds, by its key", "key-first", FIRST, ["1", "0"]],
    ["findCell finds, by the hash of its key", "key-second", SECOND, ["0", "1"]],
    ["the file names", "key-moved", MOVED, ["0", "1"]],
  ])("charge a caller in the cell that %s", async (_how, key, caller, expected) => {
    const response = await send(port, key);
    expect([response.status, await response.json()]).toMatchObject([
      200,
      { data: [{ url: expect.any(String) }] },
    ]);
    expect(await settled(caller)).toEqual(expected);
  });

  it("find the cell by the header api-key too", async () => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/images/tasks`, {
      headers: { "api-key": "key-second" },
    });
    expect(response.status).toBe(200);
  });

  it("refuse a caller of another cell, whatever way its request has taken", async () => {
    const response = await send(cells[0]?.port ?? 0, "key-moved");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await response.json()).toMatchObject({ error: { code: "gateway_unavailable" } });
    expect(await settled(MOVED)).toEqual(["0", "1"]);
  });

  it("hide from clients which cell a key belongs to", async () => {
    const response = await send(port, "key-first", "/cell");
    expect([response.status, response.headers.get("x-cell")]).toEqual([404, null]);
  });

  it("say not to repeat a request that a gateway may have got", async () => {
    const response = await send(port, "key-first", "/v1/break");
    expect([
      response.status,
      response.headers.get("x-should-retry"),
      response.headers.get("retry-after"),
    ]).toEqual([502, "false", null]);
    expect(await response.json()).toMatchObject({ error: { code: "gateway_unavailable" } });
  });

  it("refuse the callers of a cell that is down, and no others", async () => {
    await stop(cells[0]?.server ?? createServer());
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => ["key-first", "key-second", "key-moved", "wrong"])
        .flat()
        .map(async (key) => [key, (await send(port, key)).status] as const),
    );
    expect(new Set(responses.map(([key, status]) => `${key} ${status}`))).toEqual(
      new Set(["key-first 503", "key-second 200", "key-moved 200", "wrong 401"]),
    );
    const refused = await send(port, "key-first");
    expect([refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual(["2", null]);
    expect(await refused.json()).toMatchObject({
      error: { type: "server_error", code: "gateway_unavailable" },
    });
  });
});

describe("cells.json", () => {
  it.each([
    [null, "cells"],
    [{ cells: [] }, "list of names"],
    [{ cells: ["a", ""] }, "list of names"],
    [{ cells: ["a", "a"] }, "twice"],
    [{ cells: ["b"] }, "must contain a"],
    [{ cells: ["a"], moved: { shop: "b" } }, "names of"],
    [{ cells: ["a"], moved: ["a"] }, "map ids"],
  ])("%j is refused", (plan, message) => {
    expect(() => checkPlan(plan, "a")).toThrow(message);
  });

  it("a caller may have the name of a method of objects", async () => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-cells-"));
    const path = join(folder, "cells.json");
    writeFileSync(path, JSON.stringify({ cells: ["a"] }));
    const cells = await joinCells({ path, own: "a", callers: [{ id: "constructor", key: "k" }] });
    cells.close();
    rmSync(folder, { recursive: true });
    expect(await cells.authenticate("k", new Headers())).toEqual({ id: "constructor" });
  });
});
