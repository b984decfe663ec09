import { describe, expect, it } from "vitest";
import { hashApiKey } from "../auth/api-key.js";
import { createMemoryLedger } from "../billing/memory-ledger.js";
import { openCallerStore } from "./open-caller-store.js";
import { runKeyCommand } from "./run-key-command.js";

const SECRET = "cal-canary-51d0c2aa";

/** A ledger on which commands are run in this process. */
function open() {
  const { callers: store } = createMemoryLedger();
  const opened: object[] = [];
  let closed = 0;
  const run = async (...words: readonly string[]) => {
    const said = { out: "", err: "" };
    const code = await runKeyCommand(words, {
      write: (text) => void (said.out += text),
      complain: (text) => void (said.err += text),
      isTyped: false,
      readLine: async () => "",
      env: { CALOTYPE_LEDGER: "ledger.db" },
      user: "ann",
      openCallerStore: async (address) => {
        opened.push(address);
        return { store, close: async () => void closed++ };
      },
    });
    return { code, ...said };
  };
  return { run, store, opened, closed: () => closed };
}

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
    ["an unknown option", ["create", "--id", "a", "--colour", SECRET], 2, "not valid"],
    ["a key as an argument", ["create", "--id", "a", SECRET], 2, "not valid"],
    ["a prefix that no header can contain", ["create", "--id", "a", "--prefix", "a b"], 2, "prefix"],
    ["no time", ["prune-audit"], 2, "before must be a time with a zone"],
    ["a date without a zone", ["prune-audit", "--before", "2026-01-01"], 2, "before must be a time"],
    ["a budget with an unknown period", ["create", "--id", "a", "--budget", "50/year"], 2, "the periods are"],
    ["a budget with an unknown period", ["create", "--id", "a", "--budget", "50/hour"], 2, "the periods are"],
    ["a budget that is not a number", ["create", "--id", "a", "--budget", "fifty"], 2, "budget must be"],
    ["a limit that is not a number", ["create", "--id", "a", "--concurrent", "1.5"], 2, "--concurrent"],
    ["a limit of zero", ["create", "--id", "a", "--concurrent", "0"], 2, "limits.concurrent"],
    ["an unknown client", ["create", "--id", "a", "--client", "netscape"], 2, "client must be"],
    ["a change of nothing", ["change", "--id", "shop"], 2, "at least one field"],
    ["an unknown field to unset", ["change", "--id", "shop", "--unset", "keys"], 2, "keys is not a field"],
    ["an id that is taken", ["create", "--id", "shop"], 1, "exists already"],
    ["an unknown caller", ["revoke", "--id", "nobody"], 1, "no caller"],
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
      env: {},
      user: "ann",
      openCallerStore,
    });
    expect(code).toBe(2);
    expect(err).toContain("CALOTYPE_LEDGER");
  });
});
