import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { arkInit } from "../test-support/read-body.js";

const hooks = fileURLToPath(new URL("../test-support/run-sources.ts", import.meta.url));
const command = fileURLToPath(new URL("../command.ts", import.meta.url));

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

/** A process of the command, with what it wrote so far. */
function start(...words: string[]) {
  const child = spawn(process.execPath, ["--import", hooks, command, ...words]);
  running.push(child);
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, "close").then(([code]: unknown[]) => code);
  return { child, said, ended };
}

describe("the process of the command", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "ends at once on %s, without output, while a request hangs",
    async (signal) => {
      const { child, said, ended } = start("--port", "0");
      await expect.poll(() => said.out).toContain("Stop with");
      const origin = /^Faults +(http:.*?)\/_emulator/m.exec(said.out)?.[1] ?? "";
      await fetch(`${origin}/_emulator/faults`, { method: "POST", body: '{"hang":true}' });
      const hung = fetch(`${origin}/api/v3/images/generations`, arkInit()).catch(() => "broken");
      await expect.poll(async () => (await fetch(`${origin}/_emulator/requests`)).json()).toHaveLength(1);
      child.kill(signal);
      expect(await ended).toBe(0);
      expect(await hung).toBe("broken");
      expect(said.err).toBe("");
    },
    20_000,
  );

  it("prints its version", async () => {
    const { said, ended } = start("--version");
    expect([await ended, said]).toEqual([0, { out: `${packageJson.version}\n`, err: "" }]);
  });

  it("ends with the exit code for invalid options", async () => {
    const { said, ended } = start("--port", "http");
    expect([await ended, said.out]).toEqual([2, ""]);
    expect(said.err).toContain('not "http"');
  });
});
