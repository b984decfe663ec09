import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { findFreePort } from "./support/find-free-port.js";
import { pack } from "./support/packed-project.js";
import { run } from "./support/run.js";
import { useProviders } from "./support/use-providers.js";
import { readText } from "./support/workspace.js";

/*
 * Follows the steps of the README in an empty folder. There are three differences: our packages are installed from
 * tarballs, the channel uses the emulator, and the port is a free one.
 */

const KEY = "caller-canary-40fe2b97";
const providers = useProviders({ images: "tiny" });

let folder: string;
let tarballs: readonly string[];
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "calotype-readme-")));
  const names =
    [...readText("README.md").matchAll(/npm install .*/g)].join(" ").match(/@calotype\/\w+/g) ?? [];
  tarballs = pack(folder, [...new Set(names)]);
  for (const command of commandsOf("Mount it")) runCommand(command);
  for (const command of commandsOf("Money and keys")) runCommand(command);
}, 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }), 180_000);

it("has code that compiles with the installed packages", () => {
  const files = ["server.ts", "client.ts", "shop.ts"].map((name) => writeCode(name));
  const check = blocksOf("Mount it", "sh")
    .join("\n")
    .match(/npx (tsc .*?) server\.ts client\.ts/)?.[1];

  expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({ type: "module" });
  expect(run("npx", ["--no-install", ...(check ?? "").split(" "), "--strict", ...files], folder)).toBe("");
});

it("returns four images to a client and prints the charge", async () => {
  const port = await findFreePort();
  const server = await start("server.ts", port, { CALOTYPE_API_KEY: KEY });
  const client = await start("client.ts", port, { CALOTYPE_API_KEY: KEY });
  await client.ended;

  expect(client.output().match(/http:\/\/127\.0\.0\.1/g)).toHaveLength(4);
  await vi.waitFor(() => expect(server.output()).toContain("web-shop 1\n"));
  expect(await server.stop()).toBe(0);
});

it("runs the example with budgets, with a key from calotype-key", async () => {
  const [key, hash] = /^Key +(\S+)[^]*hash: "(\w+)"/m
    .exec(run("npx", ["--no-install", "calotype-key"], folder))
    ?.slice(1) ?? ["", ""];
  const port = await findFreePort();
  const env = { WEB_SHOP_KEY_HASH: "0".repeat(64), TRIAL_KEY_HASH: hash ?? "" };
  const server = await start("shop.ts", port, env);

  const client = await start("client.ts", port, { CALOTYPE_API_KEY: key ?? "" });
  await client.ended;

  expect(client.output().match(/http:\/\/127\.0\.0\.1/g)).toHaveLength(4);
  await vi.waitFor(() => expect(server.output()).toContain("trial 1 { settled: '1', held: '0' }"));
  expect(await server.stop()).toBe(0);
});

/** The code blocks of a section of the README, in order. */
function blocksOf(section: string, language: string): string[] {
  const text =
    readText("README.md")
      .split(/^## /m)
      .find((part) => part.startsWith(`${section}\n`)) ?? "";
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].flatMap(([, of, code]) =>
    of === language ? [code ?? ""] : [],
  );
}

/** The commands of a section that install packages and write files, without those that start programs. */
function commandsOf(section: string): string[] {
  return blocksOf(section, "sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => /^(?:npm|echo) /.test(line));
}

function runCommand(command: string): void {
  // All tarballs at once, because our packages depend on one another.
  const local = command.replaceAll(/@calotype\/\S+/g, "").trim();
  const isOurs = local !== command && command.startsWith("npm install");
  const flags = command.startsWith("npm install") ? " --no-audit --no-fund --prefer-offline" : "";
  run("sh", ["-c", (isOurs ? `${local} ${tarballs.join(" ")}` : command) + flags], folder);
}

/** Writes the code block with this file name. */
function writeCode(name: string, port?: number): string {
  const blocks = ["Mount it", "Money and keys"].flatMap((section) => blocksOf(section, "ts"));
  const code = blocks.find((block) => block.startsWith(`// ${name}\n`));
  if (code === undefined) throw new Error(`The README shows no ${name}.`);
  const changed = code
    .replace('family: "seedream",', `family: "seedream", baseUrl: "${providers().server.arkBaseUrl}",`)
    .replaceAll("8787", String(port ?? 8787));
  writeFileSync(join(folder, name), changed);
  return name;
}

interface Running {
  readonly ended: Promise<unknown>;
  output(): string;
  stop(): Promise<number | null>;
}

/** Runs a file of the README. A server is ready when it has printed that it listens. */
async function start(name: string, port: number, env: Record<string, string>): Promise<Running> {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [writeCode(name, port)], {
    cwd: folder,
    env: { ...process.env, ARK_API_KEY: "channel-canary-6c02d1ee", ...env },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  if (name !== "client.ts") await vi.waitUntil(() => output.includes("Listening on"));
  return {
    ended,
    output: () => output,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      return child.exitCode;
    },
  };
}
