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
    const slow: HistoryLedger = { ...ledger, history: { ...history, series: wait, page: wait } };
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

it.each(["tomorrow", "+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z"])(
  "without totals, a request id near %s gets a 400",
  async (near) => {
    const { status, json } = await openStudio({}, { ledger: withoutHistory() }).send({
      path: address("requests/req-1", { near }),
    });

    expect([status, json]).toMatchObject([400, { error: { code: "invalid_request_error" } }]);
  },
);

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
    const [head, one, two, end] = text.split("\r\n");
    expect(head).toMatch(/^\uFEFFtime,id,caller,.*,charge,endUser,tags$/);
    expect(one).toMatch(/,shop,.*,0\.2,"'=cmd\|""1"",2",$/);
    expect(two).toMatch(/,0\.2,'-1\+1,$/);
    expect(end).toBe("");
  });

  it.each(["=1", "+1", "-1", "@a", "\t=1", " =1", "\u00A0=1", "＝1", "＋1", "－1", "＠a", "\n=1"])(
    "as CSV has an apostrophe before %j",
    async (endUser) => {
      const studio = openStudio();
      vi.spyOn(studio.gateway.usage, "page").mockResolvedValue({ records: [{ ...RECORD, endUser }] });

      const { text } = await studio.send({ path: address("records/export", { format: "csv" }) });

      expect(text).toContain(`'${endUser}`);
    },
  );

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
