import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import type { ArkBody } from "../test-support/ask.js";
import { arkInit } from "../test-support/read-body.js";
import { runCommand } from "./run-command.js";

/** The command in this process, until `stop` is called. */
function run(...words: string[]) {
  const said = { out: "", err: "" };
  const stopped = Promise.withResolvers<void>();
  const ended = runCommand(words, {
    version: "1.2.3",
    write: (text) => (said.out += text),
    writeError: (text) => (said.err += text),
    untilStopped: () => stopped.promise,
  });
  return { said, ended, stop: () => stopped.resolve() };
}

describe("the command", () => {
  it("serves at the addresses that it prints, as its options say, and logs on request", async () => {
    const options = "--port 0 --tiny --link-ttl 1234 --ms-per-image 60 --seed 7 --log";
    const { said, ended, stop } = run(...options.split(" "));
    await expect.poll(() => said.out).toContain("Stop with");
    const read = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(said.out)?.[1];
    expect(said.out).toContain(`Ark          ${read("ARK_BASE_URL")}\n`);
    const startedAt = performance.now();
    const response = await fetch(`${read("ARK_BASE_URL")}/images/generations`, arkInit());
    expect(performance.now() - startedAt).toBeGreaterThan(58);
    const { data } = (await response.json()) as ArkBody;
    expect(data[0]?.url).toContain("X-Tos-Expires=1234");
    expect((await (await fetch(data[0]?.url ?? "")).arrayBuffer()).byteLength).toBeLessThan(2000);
    expect((await fetch(`${read("DASHSCOPE_BASE_URL")}/none?key=secret`)).status).toBe(404);
    await expect.poll(() => said.err).toMatch(/ GET \/api\/v1\/none 404 \d+ ms\n$/);
    expect(said.err).toMatch(/^\S+Z POST \/api\/v3\/images\/generations 200 \d+ ms\n/);
    expect(said.err).not.toContain("X-Tos");
    stop();
    expect(await ended).toBe(0);
  });

  it("logs a request without a response", async () => {
    const { said, ended, stop } = run("--port", "0", "--log");
    await expect.poll(() => said.out).toContain("Stop with");
    const origin = /^Faults +(http:.*?)\/_emulator/m.exec(said.out)?.[1];
    await fetch(`${origin}/_emulator/faults`, { method: "POST", body: '{"hangUp":true}' });
    await expect(fetch(`${origin}/api/v3/images/generations`, arkInit())).rejects.toThrow("fetch failed");
    await expect.poll(() => said.err).toMatch(/ POST \/api\/v3\/images\/generations no response \d+ ms\n$/);
    stop();
    await ended;
  });

  it("says that its port is in use, and fails", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const address = other.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { said, ended } = run("--port", port);
    expect(await ended).toBe(1);
    const err = `Port ${port} of 127.0.0.1 is in use. Choose another port. --port 0 uses any free port.\n`;
    expect(said).toEqual({ out: "", err });
    other.close();
  });

  it("says that it cannot listen on a foreign address, and fails", async () => {
    const { said, ended } = run("--host", "192.0.2.1");
    expect(await ended).toBe(1);
    expect(said.err).toContain("192.0.2.1 is not an address of this machine");
  });

  it("prints its version and its options", async () => {
    const [version, help] = [run("--version"), run("--help")];
    expect([await version.ended, version.said]).toEqual([0, { out: "1.2.3\n", err: "" }]);
    expect([await help.ended, help.said.err]).toEqual([0, ""]);
    for (const name of "port host tiny ms-per-image link-ttl seed log help version".split(" ")) {
      expect(help.said.out).toMatch(new RegExp(`^ +--${name}\\b`, "m"));
    }
  });

  it("ends with exit code 2 if options are invalid", async () => {
    const { said, ended } = run("--port", "http");
    expect(await ended).toBe(2);
    expect(said).toEqual({
      out: "",
      err: '--port must be a whole number from 0 to 65535, not "http".\nSee calotype-emulator --help.\n',
    });
  });
});
