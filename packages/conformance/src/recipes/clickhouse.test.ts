import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import type { UsageRecord } from "@calotype/core";
import { addDecimals, formatDecimal, readDecimal } from "@calotype/core/stores";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordOf, releasedOf, unresolvedOf } from "../ledger-suite/entries.js";
import { type Listening, listen } from "../support/listen.js";
import { readText } from "../support/workspace.js";
import { loadRecipe } from "./load-recipe.js";

/*
 * Runs the code of docs/recipes/clickhouse.md against a server that checks and responds as ClickHouse does over HTTP. Its engine is one of
 * this file, and chdb, which is ClickHouse as a library, if the variable CALOTYPE_CHDB has a folder with it (it has 500 MB).
 */

const PAGE = "docs/recipes/clickhouse.md";
const [CREATE = "", SELECT = ""] = Array.from(
  readText(PAGE).matchAll(/```sql\n([^]*?)```/g),
  ([, statement = ""]) => statement,
);

interface Sums {
  readonly images: number;
  readonly charge: string;
}

/** What ClickHouse does with requests. */
interface Engine {
  /** Throws for lines that are not rows of the table. */
  insert(query: string, lines: string): void;
  /** The result of the query of the page. */
  sum(): Promise<Sums | undefined> | Sums | undefined;
  /** Removes all rows. */
  clear(): void;
}

const COLUMNS = Array.from(CREATE.matchAll(/^ {2}(\w+) /gm), ([, name = ""]) => name).toSorted();

/** A table that keeps the row with the highest version of each key. It has each copy until it is read. */
function createReplacingTable(): Engine {
  const rows: Record<string, string | number>[] = [];
  return {
    insert(query, lines) {
      expect(query).toBe("INSERT INTO usage_records FORMAT JSONEachRow");
      const added = lines
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      for (const row of added) {
        if (Object.keys(row).toSorted().join() !== COLUMNS.join()) throw new Error("Unknown field found");
        if (typeof row.charge !== "string")
          throw new Error("The charge must be a string: a number may be rounded.");
      }
      rows.push(...added);
    },
    sum() {
      const latest = new Map<string, (typeof rows)[number]>();
      for (const row of rows) {
        const key = JSON.stringify([row["caller"], row["time"], row["id"]]);
        if (Number(row["version"]) >= Number(latest.get(key)?.["version"] ?? 0)) latest.set(key, row);
      }
      const all = [...latest.values()];
      if (all.length === 0) return undefined;
      return {
        images: all.reduce((sum, { images }) => sum + Number(images), 0),
        charge: formatDecimal(all.map(({ charge }) => readDecimal(String(charge))).reduce(addDecimals)),
      };
    },
    clear: () => void rows.splice(0),
  };
}

interface ChdbSession {
  query(sql: string, format?: string): string;
  cleanup(): void;
}

/** @param folder in which `npm install chdb` ran */
async function openChdb(folder: string): Promise<Engine & { readonly close: () => void }> {
  const path = createRequire(join(folder, "index.js")).resolve("chdb");
  const { Session } = (await import(pathToFileURL(path).href)) as { readonly Session: new () => ChdbSession };
  const session = new Session();
  session.query("CREATE DATABASE recipe ENGINE = Atomic");
  session.query("USE recipe");
  session.query(CREATE);
  return {
    insert: (query, lines) => {
      const [into, format] = query.split(" FORMAT ");
      session.query(`${into} SETTINGS date_time_input_format = 'best_effort' FORMAT ${format}\n${lines}`);
    },
    sum() {
      const [line = ""] = session
        .query(`${SELECT} SETTINGS output_format_json_quote_decimals = 1`, "JSONEachRow")
        .split("\n");
      if (line === "") return undefined;
      const { images, charge } = JSON.parse(line);
      return { images: Number(images), charge };
    },
    clear: () => void session.query("TRUNCATE TABLE usage_records"),
    close: () => session.cleanup(),
  };
}

let engine = createReplacingTable();
let insert: (records: readonly UsageRecord[]) => Promise<void>;
let clickhouse: Listening;
let losesResponse = false;
const tokens: string[] = [];

beforeAll(async () => {
  clickhouse = await listen((req, res) => void receive(req, res));
  process.env["CLICKHOUSE_URL"] = clickhouse.url;
  process.env["CLICKHOUSE_PASSWORD"] = "secret";
  const recipe = (await loadRecipe(PAGE, "clickhouse-usage.ts")) as { readonly insertRecords: typeof insert };
  insert = recipe.insertRecords;
});
afterAll(async () => {
  delete process.env["CLICKHOUSE_URL"];
  delete process.env["CLICKHOUSE_PASSWORD"];
  await clickhouse.close();
});

async function receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await text(req);
  const settings = new URL(req.url ?? "", clickhouse.url).searchParams;
  const refuse = (status: number, code: number, message: string): void =>
    void res
      .writeHead(status, { "x-clickhouse-exception-code": String(code) })
      .end(`Code: ${code}. DB::Exception: ${message}`);
  if (req.headers["x-clickhouse-user"] !== "default" || req.headers["x-clickhouse-key"] !== "secret") {
    return refuse(403, 516, "Authentication failed");
  }
  // Without these, ClickHouse responds before the rows are stored, or cannot read the time.
  if (settings.get("async_insert") !== "1" || settings.get("wait_for_async_insert") !== "1") {
    return refuse(400, 36, "not the settings of the recipe");
  }
  if (settings.get("date_time_input_format") !== "best_effort") return refuse(400, 27, "Cannot parse input");
  tokens.push(settings.get("insert_deduplication_token") ?? "");
  try {
    engine.insert(settings.get("query") ?? "", body);
  } catch (error) {
    return refuse(400, 27, String(error));
  }
  if (losesResponse) req.socket.destroy();
  else res.writeHead(200).end();
}

const FIRST = recordOf({
  id: "req_1",
  time: "2026-11-21T04:38:32.660Z",
  caller: "web-shop",
  images: 2,
  charge: "0.05305",
});
const SECOND = { ...FIRST, id: "req_2", images: 3, charge: "0.1" };

function describeRecipe(open: () => Promise<Engine> | Engine): void {
  beforeAll(async () => {
    engine = await open();
  });

  it("stores a batch with one request, with exact charges", async () => {
    engine.clear();
    tokens.length = 0;
    await insert([FIRST, SECOND]);
    expect(tokens).toHaveLength(1);
    expect(await engine.sum()).toEqual({ images: 5, charge: "0.15305" });
  });

  it("counts nothing twice when the response was lost and the batch comes again, alone or with a later record", async () => {
    engine.clear();
    tokens.length = 0;
    losesResponse = true;
    await expect(insert([FIRST])).rejects.toThrow("fetch failed");
    losesResponse = false;
    await insert([FIRST]);
    await insert([FIRST, SECOND]);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
    expect(await engine.sum()).toEqual({ images: 5, charge: "0.15305" });
  });

  it("replaces an unresolved record by its correction, in any order", async () => {
    engine.clear();
    const { id, time, caller } = FIRST;
    const unresolved = { ...unresolvedOf({ id }), time, caller, charge: "1" };
    const other = { ...unresolved, id: "req_3" };
    await insert([unresolved, other]);
    expect(await engine.sum()).toEqual({ images: 0, charge: "2" });
    await insert([FIRST, { ...releasedOf({ id: "req_3" }), time, caller, charge: "0" }]);
    await insert([unresolved]);
    expect(await engine.sum()).toEqual({ images: 2, charge: "0.05305" });
  });

  it("fails with the message of ClickHouse if it refuses the batch", async () => {
    process.env["CLICKHOUSE_PASSWORD"] = "wrong";
    await expect(insert([FIRST])).rejects.toThrow(/403 Code: 516/);
    process.env["CLICKHOUSE_PASSWORD"] = "secret";
  });
}

describe("the recipe for ClickHouse", () => {
  describeRecipe(createReplacingTable);
});

const folder = process.env["CALOTYPE_CHDB"];
if (folder === undefined) process.stderr.write("Left out: what needs chdb in the folder CALOTYPE_CHDB.\n");
describe.runIf(folder !== undefined)("the recipe for ClickHouse with chdb", () => {
  let close: (() => void) | undefined;
  describeRecipe(async () => {
    const opened = await openChdb(folder ?? "");
    close = opened.close;
    return opened;
  });
  afterAll(() => close?.());
});
