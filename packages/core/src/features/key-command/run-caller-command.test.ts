import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hashApiKey } from "../../auth/api-key.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { Refusal } from "../refusals/refusal.js";
import type { RefusalStore } from "../refusals/refusal-store.js";
import { openCallerStore } from "./open-caller-store.js";
import { runKeyCommand } from "./run-key-command.js";

const SECRET = "cal-canary-51d0c2aa";
const NOW = Date.parse("2026-11-24T09:30:00.000Z");

/** A ledger on which commands are run in this process. */
function open() {
  const ledger = createMemoryLedger();
  const { callers: store } = ledger;
  const opened: object[] = [];
  const refused = new Map<string, Refusal>();
  const refusals: RefusalStore = {
    add: async (added) => added.forEach((refusal) => refused.set(refusal.id, refusal)),
    find: async (id) => refused.get(id),
  };
  let closed = 0;
  const run = async (...words: readonly string[]) => {
    const said = { out: "", err: "" };
    const code = await runKeyCommand(words, {
      write: (text) => void (said.out += text),
      complain: (text) => void (said.err += text),
      isTyped: false,
      readLine: async () => "",
      readEnv: () => ({ CALOTYPE_LEDGER: "ledger.db" }),
      now: () => NOW,
      user: "ann",
      openCallerStore: async (address) => {
        opened.push(address);
        return { store, usage: ledger, refusals, close: async () => void closed++ };
      },
    });
    return { code, ...said };
  };
  return { run, ledger, refusals, store, opened, closed: () => closed };
}

const RECORD = {
  time: "2026-01-31T12:00:00.000Z",
  group: "default",
  model: "image-max",
  operation: "generate",
  state: "settled",
  channel: "one",
  upstreamModel: "qwen-image-max",
  status: 200,
  images: 1,
  durationMs: 1,
} as const;

const REFUSAL: Refusal = {
  id: "req_2",
  time: "2026-11-24T09:00:00.000Z",
  method: "POST",
  path: "/v1/images/generations",
  status: 429,
  code: "rate_limit_exceeded",
  limit: "requests",
  caller: "shop\n\u001b[31m",
  durationMs: 2,
};

const keyIn = (out: string): string => /cal-[\dA-Za-z]{43}/.exec(out)?.[0] ?? "";

describe("the commands for callers", () => {
  it("create a caller with its fields, print the key once, and never again", async () => {
    const { run, store, opened, closed } = open();
    const fields = [
      "--group",
      "vip",
      "--budget",
      "50",
      "--models",
      "image-max, image-edit*",
      "--client",
      "openai",
    ];
    const limits = ["--requests-per-minute", "60", "--images-per-minute", "none", "--concurrent", "2"];
    const created = await run("create", "--id", "shop", ...fields, ...limits);
    expect(created).toMatchObject({ code: 0, err: "" });
    const key = keyIn(created.out);
    expect(created.out.match(/cal-[\dA-Za-z]{43}/g)).toEqual([key]);
    expect((await store.lookUp([hashApiKey(key)])).callers).toMatchObject([{ id: "shop" }]);
    const { out } = await run("list", "--json");
    expect(JSON.parse(out)).toMatchObject({
      callers: [
        {
          id: "shop",
          group: "vip",
          budget: "50",
          models: ["image-max", "image-edit*"],
          client: "openai",
          limits: { requestsPerMinute: 60, imagesPerMinute: null, concurrent: 2 },
        },
      ],
    });
    const shown = [
      out,
      (await run("list")).out,
      (await run("audit")).out,
      (await run("audit", "--json")).out,
    ].join("");
    expect(shown.includes(key)).toBe(false);
    expect(shown.includes(hashApiKey(key))).toBe(false);
    expect(opened[0]).toEqual({ ledger: "ledger.db", schema: undefined, mayCreate: true });
    expect(opened[1]).toMatchObject({ mayCreate: false });
    expect(closed()).toBe(opened.length);
  });

  it("removes one limit, so that the gateway's applies again", async () => {
    const { run } = open();
    await run("create", "--id", "shop", "--concurrent", "3", "--images-per-minute", "9");
    const change = ["change", "--id", "shop", "--unset", "limits.concurrent", "--requests-per-minute", "60"];
    const { out } = await run(...change, "--json");
    expect(JSON.parse(out)).toMatchObject({ limits: { requestsPerMinute: 60, imagesPerMinute: 9 } });
    expect(JSON.parse(out)).not.toHaveProperty("limits.concurrent");
    expect(await run("change", "--id", "shop", "--unset", "limits.perHour")).toMatchObject({
      code: 2,
      err: expect.stringContaining("limits.perHour is not a field"),
    });
  });

  it("change, rotate and revoke a caller, and say who did it", async () => {
    const { run, store } = open();
    await run("create", "--id", "shop", "--budget", "5", "--group", "vip");
    expect(await run("change", "--id", "shop", "--unset", "budget", "--concurrent", "3")).toMatchObject({
      code: 0,
    });
    const rotated = await run("rotate", "--id", "shop", "--overlap-seconds", "60", "--by", "ci", "--json");
    expect(JSON.parse(rotated.out)).toMatchObject({ caller: { group: "vip", keys: { length: 2 } } });
    expect(JSON.parse(rotated.out)).not.toHaveProperty("caller.budget");
    expect((await run("revoke", "--id", "shop")).out).toContain("revoked");
    const lines = await store.audit({ limit: 10 });
    expect(lines.map(({ action, by }) => [action, by])).toEqual([
      ["revoke", "ann"],
      ["rotate", "ci"],
      ["change", "ann"],
      ["create", "ann"],
    ]);
  });

  it("are those of the documentation, in its order", async () => {
    const { run, refusals } = open();
    const page = readFileSync(new URL("../../../../../docs/callers.md", import.meta.url), "utf8");
    const lines = [...page.matchAll(/^npx calotype-key (.+)$/gm)].map(([, words = ""]) => words.split(" "));
    expect(new Set(lines.map(([command]) => command)).size).toBe(9);
    const id = lines.at(-1)?.[1] ?? "";
    await refusals.add([{ ...REFUSAL, id }]);
    for (const words of lines) {
      const { code, err } = await run(...words);
      // The only other output is what a time means.
      expect([words, code, err.replaceAll(/^--\w+ \S+ is .* \(days of UTC\)\.\n/gm, "")]).toEqual([
        words,
        0,
        "",
      ]);
    }
  });

  it("create keys with a prefix, and remove old lines about changes", async () => {
    const { run } = open();
    const created = await run("create", "--id", "shop", "--prefix", "acme-");
    expect(created.out).toMatch(/^Key {2}acme-[\dA-Za-z]{43}$/m);
    const rotated = await run("rotate", "--id", "shop", "--prefix", "acme2-");
    expect(rotated.out).toMatch(/^Key {2}acme2-[\dA-Za-z]{43}$/m);
    expect((await run("list")).out).toMatch(/acme-….{4} until .*, acme2-….{4}/);
    expect(await run("prune-audit", "--before", "2020-01-01T00:00:00Z")).toMatchObject({
      code: 0,
      out: "Removed: 0\n",
    });
    const removed = await run("prune-audit", "--before", "2100-01-01T00:00:00Z", "--json");
    expect(JSON.parse(removed.out)).toEqual({ removed: 2 });
    expect((await run("audit")).out).toBe("There are no lines.\n");
  });

  it("sum what was used and charged, by caller, model or day", async () => {
    const { run, ledger } = open();
    expect((await run("usage")).out).toBe("There are no requests.\n");
    for (const [id, caller, charge] of [
      ["a", "shop", "0.1"],
      ["b", "shop", "0.2"],
      ["c", "app\n", "1"],
    ] as const) {
      await ledger.settle({ ...RECORD, id, caller, charge });
    }
    const { out } = await run("usage");
    expect(out).toBe(
      [
        "CALLER    REQUESTS  IMAGES  CHARGE  UNRESOLVED",
        String.raw`app\u{a}  1         1       1       0`,
        "shop      2         2       0.3     0",
        "",
      ].join("\n"),
    );
    expect((await run("usage", "--by", "day", "--id", "shop")).out).toMatch(/^2026-01-31 +2 +2 +0.3 +0$/m);
    expect((await run("usage", "--by", "tag:team")).out).toMatch(/^- +3 +3 +1.3 +0$/m);
    const times = ["--from", "2026-01-31T13:00:00+01:00", "--to", "2026-01-31T12:00:01Z"];
    expect(JSON.parse((await run("usage", "--id", "shop", ...times, "--json")).out)).toEqual([
      { key: "shop", requests: 2, images: 2, charge: "0.3", unresolved: 0 },
    ]);
    expect((await run("usage", "--from", "2026-02-01T00:00:00Z")).out).toBe("There are no requests.\n");
    // 12:00 in UTC is the next day in Auckland.
    const zone = [
      "--time-zone",
      "Pacific/Auckland",
      "--from",
      "2026-01-30T11:00:00Z",
      "--to",
      "2026-03-01T00:00:00Z",
    ];
    expect((await run("usage", "--by", "day", "--id", "shop", ...zone)).out).toBe(
      "DAY         REQUESTS  IMAGES  CHARGE  UNRESOLVED\n2026-02-01  2         2       0.3     0\n",
    );
    expect((await run("usage", "--by", "month", ...zone)).out).toMatch(/^2026-02-01 +3 +3 +1.3 +0$/m);
  });

  it("print a table with one line for each caller, whatever its id is", async () => {
    const { run } = open();
    const ids = ["two\nlines", "\u001b[31mred", "\u202eright to left", "图像", "x".repeat(512)];
    for (const id of ids) expect(await run("create", "--id", id)).toMatchObject({ code: 0 });
    const { out } = await run("list");
    const lines = out.trimEnd().split("\n");
    expect(lines).toHaveLength(ids.length + 1);
    expect(out).toContain(String.raw`two\u{a}lines`);
    expect(out).toContain("图像");
    expect(out.replaceAll("\n", "").match(/\p{C}/gu)).toBeNull();
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(250);
    expect(JSON.parse((await run("list", "--json")).out)).toMatchObject({ callers: { length: ids.length } });
    const page = await run("list", "--limit", "2");
    expect(page.out).toContain("--after");
    expect((await run("audit")).out.trimEnd().split("\n")).toHaveLength(ids.length + 1);
  });

  it.each<[string, readonly string[], number, string]>([
    ["no id", ["create"], 2, "--id is missing"],
    ["an unknown option", ["create", "--id", "a", "--colour", SECRET], 2, "no option --colour"],
    ["an unknown option with a value", ["list", `--colour=${SECRET}`], 2, "no option --colour"],
    ["a key as an option", ["list", `--${SECRET}`], 2, "not valid"],
    ["an unknown key of usage", ["usage", "--by", "colour"], 2, "--by must be caller"],
    [
      "usage by the days of no time zone",
      ["usage", "--by", "day", "--time-zone", "Mars"],
      2,
      "must be a time zone",
    ],
    [
      "usage of a time that ends before it begins",
      [
        "usage",
        "--by",
        "day",
        "--time-zone",
        "UTC",
        "--from",
        "2026-01-02T00:00:00Z",
        "--to",
        "2026-01-01T00:00:00Z",
      ],
      2,
      "from must be before to",
    ],
    ["a time of usage without a zone", ["usage", "--from", "2026-01-01T00:00"], 2, "--from must be a time"],
    ["a day that does not exist", ["usage", "--from", "2026-02-30"], 2, "--from must be a time"],
    ["an option that is misspelled", ["list", "--limt", "5"], 2, "no option --limt. Did you mean --limit?"],
    ["an option without its value", ["usage", "--id", "--json"], 2, "--id needs a value."],
    ["a request without an id", ["request"], 2, "Name the id of the request"],
    ["an unknown request", ["request", "req_1"], 1, "no request with this id"],
    ["a key as an argument", ["create", "--id", "a", SECRET], 2, "not valid"],
    ["a prefix that no header can contain", ["create", "--id", "a", "--prefix", "a b"], 2, "prefix"],
    ["no time", ["prune-audit"], 2, "before must be a time with a zone"],
    ["a budget with an unknown period", ["create", "--id", "a", "--budget", "50/year"], 2, "the periods are"],
    ["a budget with an unknown period", ["create", "--id", "a", "--budget", "50/hour"], 2, "the periods are"],
    ["a budget that is not a number", ["create", "--id", "a", "--budget", "fifty"], 2, "budget must be"],
    ["a limit that is not a number", ["create", "--id", "a", "--concurrent", "1.5"], 2, "--concurrent"],
    ["a limit of zero", ["create", "--id", "a", "--concurrent", "0"], 2, "limits.concurrent"],
    ["an unknown client", ["create", "--id", "a", "--client", "netscape"], 2, "client must be"],
    ["a change of nothing", ["change", "--id", "shop"], 2, "at least one field"],
    ["an unknown field to unset", ["change", "--id", "shop", "--unset", "keys"], 2, "keys is not a field"],
    ["an id that is taken", ["create", "--id", "shop"], 1, "exists already"],
    ["an unknown caller", ["revoke", "--id", "unknown"], 1, "no caller"],
    [
      "a caller of the options",
      ["change", "--id", "me", "--budget", "5"],
      1,
      "not in the ledger and not listed",
    ],
    ["a number of lines that is too large", ["list", "--limit", "5000"], 2, "limit"],
  ])("refuse %s", async (_what, words, code, message) => {
    const { run } = open();
    await run("create", "--id", "shop");
    const refused = await run(...words);
    expect(refused).toMatchObject({ code, out: "" });
    expect(refused.err).toContain(message);
    expect(refused.err.includes(SECRET)).toBe(false);
    expect(JSON.parse((await run("list", "--json")).out)).toMatchObject({ callers: [{ id: "shop" }] });
  });

  it("take 50 and 50/total as a budget", async () => {
    const { run } = open();
    await run("create", "--id", "a", "--budget", "50");
    await run("create", "--id", "b", "--budget", "50.5/total");
    const { callers } = JSON.parse((await run("list", "--json")).out) as { callers: object[] };
    expect(callers).toMatchObject([{ budget: "50" }, { budget: "50.5" }]);
  });
});

const usage = (...words: readonly string[]) => ["usage", "--by", "day", ...words];

describe("times", () => {
  it.each<[string, readonly string[], string]>([
    [
      "yesterday",
      usage("--from", "yesterday"),
      "--from yesterday is 2026-11-23T00:00:00.000Z (days of UTC).",
    ],
    ["today", usage("--to", "today"), "--to today is 2026-11-24T00:00:00.000Z (days of UTC)."],
    ["a day", usage("--from", "2026-11-01"), "--from 2026-11-01 is 2026-11-01T00:00:00.000Z (days of UTC)."],
    ["hours ago", usage("--from", "24h"), "--from 24h is 2026-11-23T09:30:00.000Z (days of UTC)."],
    ["days ago", ["prune-audit", "--before", "7d"], "--before 7d is 2026-11-17T09:30:00.000Z (days of UTC)."],
    [
      "days of a time zone",
      usage("--time-zone", "Asia/Tokyo", "--from", "yesterday", "--to", "2026-11-24"),
      "--from yesterday is 2026-11-22T15:00:00.000Z (days of Asia/Tokyo).\n--to 2026-11-24 is 2026-11-23T15:00:00.000Z (days of Asia/Tokyo).",
    ],
    [
      "days ahead for the end of a caller",
      ["create", "--id", "a", "--expires-at", "30d"],
      "--expires-at 30d is 2026-12-24T09:30:00.000Z (days of UTC).",
    ],
  ])("can be %s, and the instant and the time zone are said", async (_what, words, said) => {
    expect(await open().run(...words)).toMatchObject({ code: 0, err: `${said}\n` });
  });

  it("with a zone need no explanation", async () => {
    expect(await open().run("usage", "--from", "2026-11-01T00:00:00Z")).toMatchObject({ code: 0, err: "" });
  });
});

describe("a rotation", () => {
  it("says when the keys before it end", async () => {
    const { run } = open();
    await run("create", "--id", "shop");
    expect((await run("rotate", "--id", "shop")).out).toMatch(/^The key cal-.* ends at \d{4}-.*Z\.$/m);
    expect((await run("rotate", "--id", "shop", "--overlap-seconds", "0")).out).toContain(
      "The keys before it have ended.",
    );
  });
});

describe("a list without callers", () => {
  it("says that callers of the options are not listed", async () => {
    expect((await open().run("list")).out).toContain("Callers in the options of the gateway");
  });
});

describe("a request", () => {
  it("that reached a provider is shown from its record", async () => {
    const { run, ledger } = open();
    await ledger.settle({ ...RECORD, id: "req_1", caller: "shop", charge: "0.5" });
    const { code, out } = await run("request", "req_1");
    expect(code).toBe(0);
    for (const line of [/^Result +200$/m, /^Caller +shop$/m, /^Charge +0\.5$/m, /^Channel +one$/m]) {
      expect(out).toMatch(line);
    }
    expect(JSON.parse((await run("request", "--id", "req_1", "--json")).out)).toMatchObject({ id: "req_1" });
  });

  it("that was refused is shown with the reason", async () => {
    const { run, refusals } = open();
    await refusals.add([REFUSAL]);
    const { code, out } = await run("request", "req_2");
    expect(code).toBe(0);
    expect(out).toMatch(/^Result +refused: 429 rate_limit_exceeded\./m);
    expect(out).toMatch(/^Path +POST \/v1\/images\/generations$/m);
    expect(out).toMatch(/^Caller +shop\\u\{a\}\\u\{1b\}\[31m$/m);
    expect(JSON.parse((await run("request", "req_2", "--json")).out)).toEqual({
      state: "refused",
      ...REFUSAL,
    });
  });
});

describe("the ledger of the commands", () => {
  it.each([
    [":memory:", /ends with this command/],
    ["mysql://root:secret@localhost/db", /path of an SQLite file/],
    ["/nowhere/ledger.db", /There is no file/],
  ])("cannot be %s", async (ledger, message) => {
    const refusal: unknown = await openCallerStore({ ledger, mayCreate: false }).catch(
      (error: unknown) => error,
    );
    expect(String(refusal)).toMatch(message);
    expect(String(refusal).includes("secret")).toBe(false);
  });

  it("must be named", async () => {
    let err = "";
    const code = await runKeyCommand(["list"], {
      write: () => undefined,
      complain: (text) => void (err += text),
      isTyped: false,
      readLine: async () => "",
      readEnv: () => ({}),
      now: Date.now,
      user: "ann",
      openCallerStore,
    });
    expect(code).toBe(2);
    expect(err).toContain("CALOTYPE_LEDGER");
  });

  it.each([
    [{ CALOTYPE_LEDGER: "a.db", DATABASE_URL: "postgres://localhost/app" }, "a.db"],
    [{ CALOTYPE_LEDGER: "", DATABASE_URL: "postgres://localhost/app" }, "postgres://localhost/app"],
  ])("of the variables %j is %s", async (env, ledger) => {
    const opened: string[] = [];
    await runKeyCommand(["list"], {
      write: () => undefined,
      complain: () => undefined,
      isTyped: false,
      readLine: async () => "",
      readEnv: () => env,
      now: Date.now,
      user: "ann",
      openCallerStore: async (address) => {
        opened.push(address.ledger);
        throw new Error("not opened");
      },
    });
    expect(opened).toEqual([ledger]);
  });
});
