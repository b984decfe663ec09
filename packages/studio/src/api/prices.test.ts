import { createMemoryLedger } from "@calotype/core";
import { describe, expect, it, vi } from "vitest";
import { CALLER_KEY, MODEL, openStudio } from "../testing/open-studio.js";
import type { PriceView, RepriceLine } from "../wire.js";

const CALCULATE = { method: "POST", path: "/api/prices/calculate" };
const REPRICE = { method: "POST", path: "/api/prices/reprice" };
const DAY = { from: "2026-05-04T00:00:00Z", to: "2026-05-05T00:00:00Z" };
const flat = (model_price: unknown) => ({ pricing_mode: "per-request", model_price });
const TABLES = { model_details: { [MODEL]: flat("0.3") }, group_ratio: { default: "1" } };

describe("the prices in effect", () => {
  it("are shown with the models that have them", async () => {
    const { json } = await openStudio().send({ path: "/api/prices" });

    expect(json).toMatchObject({
      tables: { model_details: { [MODEL]: { model_price: "0.2" } }, group_ratio: { default: "1" } },
      models: [{ id: MODEL, capabilities: { sizes: expect.any(Object) } }],
    });
  });

  it("are null without billing", async () => {
    const { send } = openStudio({}, { billing: undefined, callers: [{ id: "shop", key: CALLER_KEY }] });

    expect(((await send({ path: "/api/prices" })).json as PriceView).tables).toBeNull();
    expect((await send({ ...CALCULATE, body: { model: MODEL, images: 1 } })).status).toBe(400);
  });
});

const perToken = (output_token_price: string) => ({ pricing_mode: "per-token", output_token_price }) as const;

describe("the calculator", () => {
  const PRICED = {
    model_details: {
      [MODEL]: {
        pricing_mode: "per-request",
        image_prices: [{ up_to_pixels: 1_048_576, price: "0.1" }, { price: "0.4" }],
        layer_price: "0.01",
        reference_image_price: "0.02",
      },
    },
  } as const;

  it.each([
    ["a flat price", undefined, { model: MODEL, images: 3 }, "0.6"],
    ["no image", undefined, { model: MODEL, images: 0 }, "0"],
    ["a small size", PRICED, { model: MODEL, images: 2, size: "1024x1024" }, "0.2"],
    ["an unknown size", PRICED, { model: MODEL, images: 2 }, "0.8"],
    ["layers", PRICED, { model: MODEL, images: 3, layers: 2, size: "1024x1024" }, "0.12"],
    ["references", PRICED, { model: MODEL, images: 1, size: "1024x1024", referenceImages: 3 }, "0.16"],
  ] as const)("derives a charge of %s", async (_what, billing, body, amount) => {
    const { send } = openStudio({}, billing === undefined ? {} : { billing });

    expect((await send({ ...CALCULATE, body })).json).toMatchObject({
      amount,
      derivation: { exact: amount },
    });
  });

  it("finds the row of a model by its series, the longest first, and counts tokens", async () => {
    const billing = { model_details: { "seed*": perToken("1"), "seedream-*": perToken("10") } };
    const { send } = openStudio({}, { billing });

    const { json } = await send({
      ...CALCULATE,
      body: { model: MODEL, images: 1, tokens: { output_tokens: 500_000, hack: 9 } },
    });

    expect(json).toMatchObject({ amount: "5" });
  });

  it.each([
    [{ model: "constructor", images: 1 }, "model"],
    [{ model: { toString: 1 }, images: 1 }, "model"],
    [{ model: MODEL, group: { toString: 1 }, images: 1 }, "group"],
    [{ model: MODEL, group: "__proto__", images: 1 }, "group"],
    [{ model: MODEL, images: 1e9 }, "images"],
    [{ model: MODEL, images: "1" }, "images"],
    [{ model: MODEL, images: 1, layers: 2 }, "layers"],
    [{ model: MODEL, images: 1, layers: "1" }, "layers"],
    [{ model: MODEL, images: 1, tokens: 7 }, "tokens"],
    [{ model: MODEL, images: 1, size: "big" }, null],
    [{ model: MODEL, images: 1, size: {} }, null],
    [{ model: MODEL, images: 1, referenceImages: -1 }, null],
    [{ model: MODEL, images: 1, referenceImages: "many" }, null],
    [{ model: MODEL, images: 1, tokens: { output_tokens: "many" } }, "output_tokens"],
    [{ model: MODEL, images: 1, tokens: { total_tokens: -1 } }, "total_tokens"],
  ])("%j gets a 400", async (body, param) => {
    const { status, json } = await openStudio().send({ ...CALCULATE, body });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });
});

/** A ledger with settled requests of that day, one in a minute. */
async function fill(count: number, callers: readonly string[] = ["shop", "app"]) {
  const ledger = createMemoryLedger({ maxRecords: 200_000 });
  for (let index = 0; index < count; index++) {
    const facts = {
      id: `r${String(index).padStart(6, "0")}`,
      time: new Date(Date.parse(DAY.from) + (index % 1_440) * 60_000).toISOString(),
      caller: callers[index % callers.length] ?? "",
      group: "default",
      model: MODEL,
      operation: "generate",
    } as const;
    await ledger.settle({
      ...facts,
      state: "settled",
      channel: "ark",
      upstreamModel: MODEL,
      attempts: [],
      status: 200,
      images: 1,
      usage: { generated_images: 1 },
      charge: "0.2",
      durationMs: 1,
    });
  }
  return ledger;
}

async function readAll(ledger: { records(): AsyncIterable<unknown> }): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for await (const record of ledger.records()) records.push(record);
  return records;
}

/** The body of a response that is a stream. */
function toLines(body: unknown): AsyncIterable<unknown> {
  if (typeof body === "object" && body !== null && Symbol.asyncIterator in body) {
    return body as AsyncIterable<unknown>;
  }
  throw new TypeError("The body is not a stream.");
}

const linesOf = (text: string): readonly RepriceLine[] =>
  text
    .trim()
    .split("\n")
    .map((line): RepriceLine => JSON.parse(line));

describe("other prices", () => {
  it("are applied to the records of a period, for each model and caller, and no record changes", async () => {
    const ledger = await fill(5);
    const { send } = openStudio({}, { ledger });
    const before = JSON.stringify(await readAll(ledger));

    const { status, headers, text } = await send({ ...REPRICE, body: { ...DAY, tables: TABLES } });

    expect([status, headers["content-type"]]).toEqual([200, "application/jsonl; charset=utf-8"]);
    const sums = { estimated: 0, kept: 0, keptBecause: { outcome: 0, model: 0, group: 0 } };
    expect(linesOf(text)).toEqual([
      {
        kind: "result",
        result: {
          requests: 5,
          charge: "1",
          newCharge: "1.5",
          change: "0.5",
          ...sums,
          models: [{ model: MODEL, requests: 5, charge: "1", newCharge: "1.5", change: "0.5", ...sums }],
          callers: [
            { caller: "shop", requests: 3, charge: "0.6", newCharge: "0.9", change: "0.3", ...sums },
            { caller: "app", requests: 2, charge: "0.4", newCharge: "0.6", change: "0.2", ...sums },
          ],
          modelCount: 1,
          callerCount: 2,
        },
      },
    ]);
    expect(JSON.stringify(await readAll(ledger))).toBe(before);
  });

  it("can be lower, and may not name a model", async () => {
    const { send } = openStudio({}, { ledger: await fill(2) });
    const lower = await send({
      ...REPRICE,
      body: { ...DAY, tables: { model_details: { "*": flat("0.05") } } },
    });
    expect(linesOf(lower.text)).toMatchObject([{ result: { newCharge: "0.1", change: "-0.3" } }]);
    const none = await send({
      ...REPRICE,
      body: { ...DAY, tables: { model_details: { other: flat("9") } } },
    });
    expect(linesOf(none.text)).toMatchObject([
      { result: { change: "0", kept: 2, keptBecause: { model: 2, group: 0, outcome: 0 } } },
    ]);
  });

  it("say how far they are, and list the callers whose charges change the most", async () => {
    const callers = Array.from({ length: 150 }, (_, index) => `caller ${index}`);
    const { send } = openStudio({}, { ledger: await fill(1_200, callers) });

    const lines = linesOf((await send({ ...REPRICE, body: { ...DAY, tables: TABLES } })).text);

    expect(lines.map(({ kind }) => kind)).toEqual(["progress", "progress", "result"]);
    expect(lines[1]).toMatchObject({ records: 1_000, until: expect.stringMatching(/^2026-05-04T/) });
    expect(lines[2]).toMatchObject({
      result: { requests: 1_200, callerCount: 150, callers: { length: 100 } },
    });
  });

  it("are applied to 100,000 records at most, while other requests have their turn", async () => {
    const { send } = openStudio({}, { ledger: await fill(100_001) });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);

    const lines = linesOf((await send({ ...REPRICE, body: { ...DAY, tables: TABLES } })).text);

    clearInterval(timer);
    expect(lines.at(-1)).toMatchObject({
      result: { requests: 100_000, cutAt: expect.stringMatching(/^2026-05-04T23:59/) },
    });
    expect(turns).toBeGreaterThan(50);
  });

  it("are not applied further when the client leaves", async () => {
    const ledger = await fill(5_000);
    let read = 0;
    const { studio } = openStudio(
      { authorize: () => "viewer" },
      {
        ledger: {
          ...ledger,
          async *records(filter) {
            for await (const record of ledger.records(filter)) {
              read += 1;
              yield record;
            }
          },
        },
      },
    );
    const controller = new AbortController();
    const responded = await studio.handle({
      method: "POST",
      url: "/studio/api/prices/reprice",
      headers: new Headers({
        host: "localhost",
        "sec-fetch-site": "same-origin",
        "x-calotype-studio": "1",
        "content-type": "application/json",
      }),
      body: null,
      parsedBody: { ...DAY, tables: TABLES },
      signal: controller.signal,
      clientAddress: () => "127.0.0.1",
    });
    const lines = toLines(responded?.body)[Symbol.asyncIterator]();
    expect((await lines.next()).done).toBe(false);
    controller.abort();
    expect((await lines.next()).done).toBe(true);
    expect(read).toBe(500);
  });

  it("that are wrong are refused with every path", async () => {
    const tables = {
      model_details: {
        "a b": flat("-1"),
        c: { pricing_mode: "per-token", model_price: "1" },
        d: { pricing_mode: "per-request", image_prices: [{ price: "x" }] },
      },
      group_ratio: { vip: {} },
      margin: 1,
    };
    const { status, json } = await openStudio().send({ ...REPRICE, body: { ...DAY, tables } });

    expect([status, json]).toMatchObject([400, { error: { code: "invalid_prices", param: "tables" } }]);
    const { problems } = (json as { error: { problems: readonly { path: string }[] } }).error;
    expect(problems.map(({ path }) => path).toSorted()).toEqual([
      "group_ratio.vip",
      "margin",
      "model_details.c.model_price",
      "model_details.c.output_token_price",
      "model_details.d.image_prices[0].price",
      'model_details["a b"].model_price',
    ]);
  });

  it.each([
    [{ ...DAY, tables: null }, "tables"],
    [{ ...DAY, tables: "free" }, "tables"],
    [{ ...DAY, tables: [] }, "tables"],
    [{ ...DAY }, "tables"],
    [{ ...DAY, tables: { model_details: [] } }, "tables"],
    [{ from: DAY.to, to: DAY.from, tables: TABLES }, "to"],
    [{ from: DAY.from, to: DAY.from, tables: TABLES }, "to"],
    [{ from: "yesterday", to: DAY.to, tables: TABLES }, "from"],
    [{ from: 7, to: DAY.to, tables: TABLES }, "from"],
    [{ from: "2026-05-04", to: DAY.to, tables: TABLES }, "from"],
    [{ from: DAY.from, to: "2026-99-99T00:00:00Z", tables: TABLES }, "to"],
    [{ tables: TABLES }, "from"],
  ])("%j gets a 400", async (body, param) => {
    const { status, json } = await openStudio().send({ ...REPRICE, body });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });

  it("show no error of the database", async () => {
    const { send, gateway, log } = openStudio();
    vi.spyOn(gateway.usage, "records").mockImplementation(() => {
      throw new Error("database-canary:5432");
    });
    const { text } = await send({ ...REPRICE, body: { ...DAY, tables: TABLES } });
    expect(linesOf(text)).toMatchObject([{ kind: "error", error: { code: "internal_error" } }]);
    expect(text).not.toContain("database-canary");
    expect(log.join()).toContain("database-canary");
  });

  it("can be tried by a viewer, but not from another site", async () => {
    const { send } = openStudio({ authorize: () => "viewer" }, { ledger: await fill(1) });
    const body = { ...DAY, tables: TABLES };
    expect((await send({ ...REPRICE, body })).status).toBe(200);
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { "x-calotype-studio": undefined }]) {
      expect((await send({ ...REPRICE, body, headers })).status).toBe(403);
    }
  });
});
