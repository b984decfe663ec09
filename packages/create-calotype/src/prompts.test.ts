import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";

/*
 * Answers the questions in a terminal, key by key. `script`, a program that every Linux has, makes the terminal. The command is
 * the built one.
 */

const COMMAND = join(import.meta.dirname, "../dist/command.js");
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

const ENTER = "\r";
const DOWN = "\u001B[B";
const CTRL_C = "\u0003";
const BACKSPACE = "\u007F";
/** Sequences that move the cursor and set colors. */
// oxlint-disable-next-line no-control-regex
const SEQUENCES = /\u001B\[[\d;?]*[A-Za-z]/g;

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "create-calotype-")));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/**
 * Runs the command in a terminal of 80 columns.
 *
 * @param steps what to wait for, and the keys to press then
 */
async function runInTerminal(
  steps: readonly (readonly [shown: string, keys: string])[],
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
) {
  const words = [process.execPath, COMMAND, ...args].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols 80 rows 40; exec ${words}`, "/dev/null"], {
    cwd: folder,
    env: { ...process.env, CI: "", TERM: "xterm", ...env },
  });
  let output = "";
  const read = (): string => output.replaceAll(SEQUENCES, "");
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const closed = once(child, "close");
  let seen = 0;
  for (const [shown, keys] of steps) {
    await vi.waitFor(() => expect(read().slice(seen)).toContain(shown), 20_000);
    seen = read().length;
    child.stdin.write(keys);
  }
  await closed;
  return { code: child.exitCode, output: read() };
}

const dependenciesOf = (app: string): string[] =>
  Object.keys(JSON.parse(readFileSync(join(folder, app, "package.json"), "utf8")).dependencies);

describe.skipIf(!hasScript)("in a terminal", () => {
  it("writes the app of the answers: Enter takes the default, arrows and space choose others", async () => {
    const { code, output } = await runInTerminal([
      ["Folder", `shop${ENTER}`],
      ["Framework", DOWN + ENTER],
      ["Providers", `${DOWN} ${ENTER}`],
      ["stored", DOWN + ENTER],
      ["signed-in users", DOWN + ENTER],
    ]);

    expect({ code, output }).toMatchObject({ code: 0 });
    expect(dependenciesOf("shop")).toEqual(
      expect.arrayContaining(["fastify", "@calotype/postgres", "@calotype/studio", "better-auth"]),
    );
    expect(readdirSync(join(folder, "shop/providers"))).toEqual([
      "provider.ts",
      "seedream.test.ts",
      "seedream.ts",
    ]);
    expect(output).toContain("cd shop");
  });

  it("asks only for what the command line does not say", async () => {
    const { code, output } = await runInTerminal([["Providers", ENTER]], {
      args: ["shop", "--framework", "workers"],
    });

    expect({ code, output }).toMatchObject({ code: 0 });
    // Workers have one store and no sign-in, so these are no questions either.
    expect(output).not.toMatch(/Folder|stored|signed-in/);
  });

  it.each([
    ["the first question", [["Folder", CTRL_C]]],
    [
      "a later question",
      [
        ["Folder", ENTER],
        ["Framework", ENTER],
        ["Providers", CTRL_C],
      ],
    ],
  ] as const)("ends with 130 after Ctrl+C at %s, and writes nothing", async (_question, steps) => {
    const { code, output } = await runInTerminal(steps);

    expect({ code, output }).toMatchObject({
      code: 130,
      output: expect.stringContaining("Nothing was written"),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("asks again for a folder that is not empty, and for at least one provider", async () => {
    mkdirSync(join(folder, "full"));
    writeFileSync(join(folder, "full/server.ts"), "mine");
    const { code, output } = await runInTerminal([
      ["Folder", `full${ENTER}`],
      ["not empty: it contains server.ts", `${BACKSPACE.repeat(4)}shop${ENTER}`],
      ["Framework", ENTER],
      ["Providers", ` ${DOWN} ${ENTER}`],
      ["at least one", ` ${ENTER}`],
      ["stored", ENTER],
      ["signed-in users", ENTER],
    ]);

    expect({ code, output }).toMatchObject({ code: 0 });
    expect(readdirSync(join(folder, "full"))).toEqual(["server.ts"]);
    expect(readdirSync(join(folder, "shop/providers"))).toContain("qwen-image.ts");
  });

  it.each([
    ["CI is set", { env: { CI: "true" } }],
    ["of --yes", { args: ["--yes"] }],
  ])("asks nothing because %s", async (_reason, options) => {
    const { code, output } = await runInTerminal([], options);

    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).not.toContain("◆");
    expect(output).toContain(
      "--framework express --providers seedream,qwen-image --store sqlite --sign-in none",
    );
  });
});
