import { createMemoryLedger } from "@calotype/core";
import type { HistoryLedger, Ledger, ReportOptions } from "@calotype/core/stores";
import { describe, expect, it, vi } from "vitest";
import { CALLER_KEY, MODEL, type OpenStudio, openStudio } from "../testing/open-studio.js";
import type { RecordPage, UsageRecord, UsageReport } from "../wire.js";

/** A period around the present, and the one before. */
const FROM = new Date(Date.now() - 3_600_000).toISOString();
const TO = new Date(Date.now() + 3_600_000).toISOString();
const PERIOD = { from: FROM, to: TO };

function address(path: string, query: Readonly<Record<string, string>> = {}): string {
  return `/api/${path}?${new URLSearchParams(query).toString()}`;
}

/** Makes images, one request for each number of images. */
async function makeImages({ send }: OpenStudio, counts: readonly number[], endUser = "mia"): Promise<void> {
  for (const n of counts) {
    await send({
      method: "POST",
      path: "/api/images/generations",
      headers: { "x-calotype-studio-key": CALLER_KEY },
      body: { model: MODEL, prompt: "a fox", n, user: endUser },
    });
  }
}

const RECORD: UsageRecord = {
  state: "released",
  id: "req-1",
  time: FROM,
  caller: "shop",
  group: "default",
  model: MODEL,
  operation: "generate",
  held: null,
  images: 0,
  charge: "0",
};

/** A ledger without the optional member `history`. */
function withoutHistory(): Ledger {
  const { history: _history, ...ledger } = createMemoryLedger() as Ledger & { history?: unknown };
  return ledger;
}

describe("usage over time", () => {
  it("is that of another source of reports, if the gateway has one; balances are those of the ledger", async () => {
    const other = createMemoryLedger() as HistoryLedger;
    await other.settle({
      id: "req-1",
      time: FROM,
      caller: "shop",
      group: "default",
      model: MODEL,
      operation: "generate",
      state: "settled",
      channel: "ark",
      upstreamModel: MODEL,
      status: 200,
      images: 7,
      charge: "70",
      durationMs: 1,
    });
    const studio = openStudio({}, { reports: other });
    await makeImages(studio, [1]);

    const { json } = await studio.send({ path: address("usage", { ...PERIOD, by: "caller" }) });

    expect(json).toMatchObject({ series: { total: { sums: { requests: 1, images: 7, charge: "70" } } } });
    expect(await studio.gateway.usage.find("req-1")).toMatchObject({ charge: "70" });
    expect(await studio.gateway.usage.balance("shop")).toEqual({ settled: "0.2", held: "0" });
  });

  it("has the sums of the period and its lines, also for a viewer", async () => {
    const studio = openStudio({ authorize: () => "viewer" });
    await makeImages(studio, [1, 2]);

    const { status, json } = await studio.send({ path: address("usage", { ...PERIOD, by: "caller" }) });

    expect(status).toBe(200);
    expect(json).toMatchObject({
      series: {
        total: { sums: { requests: 2, charge: "0.6" } },
        lines: [{ key: "shop", sums: { images: 3 } }],
      },
    });
    expect(json).not.toHaveProperty("previous");
  });

  it.each([
    address("usage", PERIOD),
    address("records", PERIOD),
    address("records/export", { ...PERIOD, format: "csv" }),
  ])("a client that disconnects stops the report of %s, and nothing is logged", async (path) => {
    const { history, ...ledger } = createMemoryLedger() as HistoryLedger;
    const begun = Promise.withResolvers<void>();
    const wait = async (_query: unknown, { signal }: ReportOptions = {}): Promise<never> => {
      const ended = new Promise<never>((_resolve, reject) => {
        signal?.addEventListener?.("abort", () => reject(new DOMException("Stopped.", "AbortError")));
      });
      begun.resolve();
      return await ended;
    };
    const list = async function* (query: unknown, options?: ReportOptions): AsyncGenerator<never> {
      yield await wait(query, options);
    };
    const slow: HistoryLedger = { ...ledger, history: { ...history, series: wait, page: wait, list } };
    const { send, log } = openStudio({}, { ledger: slow });
    const leaving = new AbortController();
    const responding = send({ path, signal: leaving.signal });
    await begun.promise;
    leaving.abort();
    expect((await responding).status).toBe(499);
    expect(log).toEqual([]);
  });

  it("has the sums of a period to compare with, if the query names one", async () => {
    const studio = openStudio();
    await makeImages(studio, [1]);

    const query = { ...PERIOD, previousFrom: FROM, previousTo: TO };
    const { json } = await studio.send({ path: address("usage", query) });

    expect((json as UsageReport).previous?.total.sums.requests).toBe(1);
  });

  it.each([
    [{ caller: "shop" }, 1],
    [{ caller: "other" }, 0],
    [{ endUser: "mia" }, 1],
    [{ endUser: "" }, 0],
    [{ tag: "team=red" }, 0],
    [{ tag: "team=" }, 1],
    [{ outcomes: "succeeded" }, 1],
    [{ outcomes: "refused,failed" }, 0],
    [{ channel: "ark", model: MODEL }, 1],
  ])("%j selects requests", async (filter, requests) => {
    const studio = openStudio();
    await makeImages(studio, [1]);

    const { json } = await studio.send({ path: address("usage", { ...PERIOD, ...filter }) });

    expect((json as UsageReport).series.total.sums.requests).toBe(requests);
  });

  it.each([
    [{ from: FROM }, "to"],
    [{ to: TO }, "from"],
    [{ from: "yesterday", to: TO }, "from"],
    [{ from: "2026-01-01", to: TO }, null],
    [{ from: TO, to: FROM }, null],
    [{ ...PERIOD, by: "prompt" }, null],
    [{ ...PERIOD, outcomes: "good" }, null],
    [{ ...PERIOD, bucket: "minute" }, null],
    [{ ...PERIOD, timeZone: "Mars/Olympus" }, null],
    [{ ...PERIOD, limit: "1e3" }, "limit"],
    [{ ...PERIOD, limit: "0" }, null],
    [{ ...PERIOD, tag: "team" }, "tag"],
    [{ ...PERIOD, caller: "a\0b" }, "caller"],
    [{ ...PERIOD, caller: "a".repeat(600) }, "caller"],
    [{ ...PERIOD, previousFrom: FROM }, "previousTo"],
    [{ from: "1900-01-01T00:00:00Z", to: TO, by: "endUser" }, null],
  ])("%j gets a 400", async (query, param) => {
    const { status, json } = await openStudio().send({ path: address("usage", query) });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });
});

describe("records", () => {
  it("come in pages, without gaps and without repeats", async () => {
    const studio = openStudio();
    await makeImages(studio, [1, 2, 3]);

    const query = { ...PERIOD, sort: "charge", order: "ascending", limit: "2" };
    const first = (await studio.send({ path: address("records", query) })).json as RecordPage;
    const second = (await studio.send({ path: address("records", { ...query, cursor: first.next ?? "" }) }))
      .json as RecordPage;

    expect([...first.records, ...second.records].map(({ charge }) => charge)).toEqual(["0.2", "0.4", "0.6"]);
    expect(second.next).toBeUndefined();
  });

  it("are selected by their outcome", async () => {
    const studio = openStudio();
    await makeImages(studio, [1]);
    studio.emulator.faults.add({ status: 400, times: 1 });
    await makeImages(studio, [1]);

    const { json } = await studio.send({ path: address("records", { outcomes: "refused,failed" }) });

    expect((json as RecordPage).records).toMatchObject([{ images: 0, charge: "0" }]);
  });

  it.each([
    [{ outcomes: "good" }, null],
    [{ sort: "prompt", ...PERIOD }, null],
    [{ sort: "charge" }, "from"],
    [{ order: "up" }, null],
    [{ limit: "501" }, null],
    [{ limit: "-1" }, "limit"],
    [{ cursor: "[]" }, null],
    [{ from: "now" }, "from"],
    [{ to: "" }, "to"],
  ])("%j gets a 400", async (query, param) => {
    const { status, json } = await openStudio().send({ path: address("records", query) });

    expect([status, json]).toMatchObject([400, { error: { param } }]);
  });
});

it.each(["usage", "records", "records/export"])("without totals, %s says so", async (path) => {
  const { send } = openStudio({}, { ledger: withoutHistory() });

  const { status, json } = await send({ path: address(path, { ...PERIOD, format: "csv" }) });

  expect([status, json]).toMatchObject([501, { error: { code: "no_totals" } }]);
});

const failToRead = (): Promise<never> => Promise.reject(new TypeError("x is not a function"));

it("an error of the ledger is a 500, is logged, and is not shown", async () => {
  const whole = createMemoryLedger() as Ledger & { history: object };
  const ledger = { ...whole, history: { ...whole.history, page: failToRead } };
  const studio = openStudio({}, { ledger });

  const { status, text } = await studio.send({ path: address("records") });

  expect(status).toBe(500);
  expect(text).not.toContain("is not a function");
  expect(studio.log.join("\n")).toContain("x is not a function");
});

it("without totals, a request is found by its id for some minutes", async () => {
  const studio = openStudio({}, { ledger: withoutHistory() });
  const { headers } = await studio.send({
    method: "POST",
    path: "/api/images/generations",
    headers: { "x-calotype-studio-key": CALLER_KEY },
    body: { model: MODEL, prompt: "a fox" },
  });
  const id = headers["x-request-id"] ?? "";

  expect((await studio.send({ path: `/api/requests/${id}` })).json).toMatchObject({ id, charge: "0.2" });
});

it("a refused request is found by its id, with why it was refused", async () => {
  const studio = openStudio();
  const request = new Request("http://localhost/v1/images/generations", { method: "POST" });
  const id = (await studio.gateway.fetch(request)).headers.get("x-request-id") ?? "";

  const refused = { state: "refused", id, status: 401, code: "invalid_api_key", method: "POST" };
  expect((await studio.send({ path: `/api/requests/${id}` })).json).toMatchObject(refused);
  expect((await studio.send({ path: `/api/search?text=${id}` })).json).toMatchObject({ request: refused });
});

it.each(["tomorrow", "+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z"])(
  "without totals, a request id near %s gets a 400",
  async (near) => {
    const { status, json } = await openStudio({}, { ledger: withoutHistory() }).send({
      path: address("requests/req-1", { near }),
    });

    expect([status, json]).toMatchObject([400, { error: { code: "invalid_request_error" } }]);
  },
);

async function* toAsync<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

/** Exports a record with this end user as CSV. */
async function exportEndUser(endUser: string): Promise<string> {
  const studio = openStudio();
  vi.spyOn(studio.gateway.usage, "list").mockReturnValue(toAsync([{ ...RECORD, endUser }]));
  return (await studio.send({ path: address("records/export", { format: "csv" }) })).text;
}

const withoutMarks = (value = ""): string => value.replaceAll("'", "");

describe("export", () => {
  it("as CSV has a line for each record, and no cell that a program for tables would run", async () => {
    const studio = openStudio();
    await makeImages(studio, [1], '=cmd|"1",2');
    await makeImages(studio, [1], "-1+1");

    const { status, headers, text } = await studio.send({
      path: address("records/export", { format: "csv", order: "ascending" }),
    });

    expect(status).toBe(200);
    expect(headers["content-disposition"]).toBe('attachment; filename="usage.csv"');
    const [head, ...lines] = text.split("\r\n");
    expect(head).toMatch(/^\uFEFFtime,id,caller,.*,charge,cost,margin,marks,endUser,tags$/);
    // Records of the same millisecond are in the order of their ids.
    expect(lines.toSorted()).toEqual([
      "",
      expect.stringMatching(/,shop,.*,0\.2,,,,(?:"'=cmd\|""1"",2"|'-1\+1),$/),
      expect.stringMatching(/,shop,.*,0\.2,,,,(?:"'=cmd\|""1"",2"|'-1\+1),$/),
    ]);
  });

  it("as CSV has the cost and the margin, which may be negative, as numbers, and the marks", async () => {
    const ledger = createMemoryLedger();
    const { held: _held, ...facts } = RECORD;
    const settled = { channel: "ark", upstreamModel: MODEL, status: 200, images: 1, durationMs: 1 };
    const marks = ["marked", "c2pa"] as const;
    await ledger.settle({ ...facts, ...settled, state: "settled", charge: "0.2", cost: "0.25", marks });
    const studio = openStudio({}, { ledger });

    const { text } = await studio.send({ path: address("records/export", { format: "csv" }) });
    expect(text.split("\r\n")[1]).toMatch(/,0\.2,0\.25,-0\.05,marked c2pa,,$/);
  });

  it.each([
    ["=1", "'=1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@a", "'@a"],
    ["\t=1", "'\t'=1"],
    [" =1", " '=1"],
    ["\u00A0=1", "\u00A0'=1"],
    ["\u200B=1", "\u200B'=1"],
    ["＝1", "'＝1"],
    ["＋1", "'＋1"],
    ["－1", "'－1"],
    ["＠a", "'＠a"],
    ["\n=1", "'\n'=1"],
    ["\ta", "'\ta"],
    ["a;=1", "a;'=1"],
    ["a,=1", "a,'=1"],
    ["a\t @b", "a\t '@b"],
    ["a\r\n-1", "a\r\n'-1"],
    ['a;"=1"', 'a;"\'=1"'],
    ["a;;＝1", "a;;'＝1"],
    ["a=1", "a=1"],
    ["mia-1@shop.example", "mia-1@shop.example"],
    ["a; b", "a; b"],
  ])("as CSV has %j as %j, in quotation marks if it has a separator", async (endUser, cell) => {
    const isQuoted = /[",;\t\r\n]/.test(cell);

    const text = await exportEndUser(endUser);

    expect(text).toContain(isQuoted ? `,"${cell.replaceAll('"', '""')}",` : `,${cell},`);
    expect(readCsv(text, ",").at(1)?.at(-2)).toBe(cell);
  });

  it("as CSV has no cell that begins with a formula, whatever a program takes as the separator", async () => {
    const parts = [
      "=1",
      "+",
      "@a",
      "＝",
      "a",
      "b ",
      " ",
      '"',
      '""',
      "'",
      ",",
      ";",
      "\t",
      "\r",
      "\n",
      "\u00A0",
      "",
    ];
    const endUsers = parts.flatMap((one) => parts.flatMap((two) => parts.map((three) => one + two + three)));
    const studio = openStudio();
    const records = endUsers.map((endUser) => ({ ...RECORD, endUser }));
    vi.spyOn(studio.gateway.usage, "list").mockReturnValue(toAsync(records));

    const { text } = await studio.send({ path: address("records/export", { format: "csv" }) });

    for (const separator of [",", ";", "\t"]) {
      const cells = readCsv(text, separator).flat();
      expect(cells.filter((cell) => /^[\s"]*[=+\-@＝＋－＠]/.test(cell))).toEqual([]);
    }
    const lines = readCsv(text, ",").slice(1, -1);
    expect(lines.map((line) => [line.length, withoutMarks(line.at(-2))])).toEqual(
      endUsers.map((endUser) => [21, withoutMarks(endUser)]),
    );
  });

  it("as JSON Lines has the records that the filters select, beyond one page", async () => {
    const studio = openStudio({}, { callers: [{ id: "shop", key: CALLER_KEY }] });
    await makeImages(
      studio,
      Array.from({ length: 501 }, () => 1),
    );

    const { text } = await studio.send({
      path: address("records/export", { format: "jsonl", caller: "shop" }),
    });
    const none = await studio.send({ path: address("records/export", { format: "jsonl", caller: "other" }) });

    const lines = text.trimEnd().split("\n");
    expect(new Set(lines.map((line) => (JSON.parse(line) as UsageRecord).id)).size).toBe(501);
    expect(none.text).toBe("");
  });

  it.each([{}, { format: "pdf" }, { format: "csv", outcomes: "x" }])("%j gets a 400", async (query) => {
    expect((await openStudio().send({ path: address("records/export", query) })).status).toBe(400);
  });
});

/** Reads CSV by RFC 4180 with a separator. As in Excel, quotation marks count only if a cell begins with them. */
function readCsv(text: string, separator: string): readonly (readonly string[])[] {
  const lines: string[][] = [[]];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at <= text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') cell += text[at];
        else if (text[at + 1] === '"') cell += text[++at];
        else break;
      }
      at++;
    }
    while (at < text.length && text[at] !== separator && text[at] !== "\r" && text[at] !== "\n")
      cell += text[at++];
    lines.at(-1)?.push(cell);
    if (text[at] !== separator) {
      if (text[at] === "\r" && text[at + 1] === "\n") at++;
      lines.push([]);
    }
    at++;
  }
  return lines.slice(0, -1);
}
