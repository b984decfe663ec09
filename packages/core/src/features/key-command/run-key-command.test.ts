import { describe, expect, it } from "vitest";
import { hashApiKey } from "../../auth/api-key.js";
import { runKeyCommand } from "./run-key-command.js";

const KEY = "cal-canary-3e8f91b0";

/** Runs the command in this process, with one line on its stdin. */
async function run(words: readonly string[], line = "", isTyped = false) {
  const said = { out: "", err: "", asked: 0 };
  const code = await runKeyCommand(words, {
    write: (text) => void (said.out += text),
    complain: (text) => void (said.err += text),
    isTyped,
    readEnv: () => ({}),
    now: Date.now,
    user: "tester",
    openCallerStore: () => Promise.reject(new Error("no ledger is needed")),
    readLine: async () => {
      said.asked++;
      return line;
    },
  });
  return { code, ...said };
}

describe("the key command", () => {
  it("creates a key and prints it once, with its hash and the line for the options", async () => {
    const { code, out, err, asked } = await run([]);
    const [key = "", ...more] = out.match(/cal-[\dA-Za-z]{43}/g) ?? [];
    expect(more).toEqual([]);
    expect(out).toContain(`Hash  ${hashApiKey(key)}\n`);
    expect(out).toContain(`hash: "${hashApiKey(key)}"`);
    expect({ code, err, asked }).toEqual({ code: 0, err: "", asked: 0 });
  });

  it.each([
    ["a line", KEY],
    ["a line of Windows", `${KEY}\r`],
    ["a line with spaces around", ` ${KEY} `],
  ])("prints only the hash of the key in %s", async (_what, line) => {
    expect(await run(["--hash"], line)).toMatchObject({ code: 0, out: `${hashApiKey(KEY)}\n`, err: "" });
  });

  it("prompts for the key on a terminal", async () => {
    expect(await run(["--hash"], KEY, true)).toMatchObject({ code: 0, err: "Key, then Enter: " });
  });

  it.each([
    ["nothing", ""],
    ["two words", `${KEY} ${KEY}`],
    ["letters that a header cannot contain", `${KEY}ü`],
  ])("rejects %s as a key, and does not repeat it", async (_what, line) => {
    const { code, out, err } = await run(["--hash"], line);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("one line");
    expect(err.includes(KEY)).toBe(false);
  });

  it.each([
    ["a key in the arguments", ["--hash", KEY]],
    ["a key as an option's value", [`--hash=${KEY}`]],
    ["a key alone", [KEY]],
    ["an unknown option", ["--show"]],
  ])("rejects %s, reads nothing and repeats nothing", async (_what, words) => {
    const { code, out, err, asked } = await run(words);
    expect({ code, out, asked }).toEqual({ code: 2, out: "", asked: 0 });
    expect(err).toContain("calotype-key --help");
    expect(err.includes(KEY)).toBe(false);
  });

  it.each([
    [["lsit"], "There is no command lsit. Did you mean list?"],
    [["rotat", "--id", "shop"], "There is no command rotat. Did you mean rotate?"],
    [["prune-adit"], "There is no command prune-adit. Did you mean prune-audit?"],
    [["--hsh"], "There is no option --hsh. Did you mean --hash?"],
  ])("names the wrong word of %j, and the nearest one", async (words, message) => {
    const { code, out, err } = await run(words);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  it.each([[["--help"]], [["-h"]], [["help"]], [["list", "--help"]]])(
    "prints its help with %j",
    async (words) => {
      const { code, out } = await run(words);
      expect(code).toBe(0);
      expect(out).toContain("--hash");
    },
  );
});
