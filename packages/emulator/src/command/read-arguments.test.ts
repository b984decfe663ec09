import { describe, expect, it } from "vitest";
import { ArgumentError, readArguments } from "./read-arguments.js";

const listen = { port: 4010, host: "127.0.0.1" };

describe("the arguments of the command", () => {
  it.each([
    ["", {}, listen, false],
    ["--port 0 --host ::1 --log", {}, { port: 0, host: "::1" }, true],
    ["--tiny --seed=0", { images: "tiny", seed: 0 }, listen, false],
    ["--ms-per-image 250 --link-ttl 60", { millisecondsPerImage: 250, linkTtlSeconds: 60 }, listen, false],
  ])("%j", (line, emulator, where, logs) => {
    const words = line.split(" ").filter(Boolean);
    expect(readArguments(words)).toEqual({ kind: "serve", emulator, listen: where, logs });
  });

  it.each([
    ["--help", "help"],
    ["-h --port 1", "help"],
    ["--version", "version"],
    ["-v", "version"],
  ])("%j", (line, kind) => {
    expect(readArguments(line.split(" "))).toEqual({ kind });
  });

  it.each([
    [["--prot", "1"], "--prot"],
    [["4010"], "4010"],
    [["--port"], "--port"],
    [["--port", "65536"], "--port must be a whole number from 0 to 65535"],
    [["--port=-1"], '--port must be a whole number from 0 to 65535, not "-1"'],
    [["--port", ""], "--port must be"],
    [["--tiny=yes"], "--tiny"],
    [["--seed", "1e3"], "--seed must be"],
    [["--ms-per-image", "2147483648"], "--ms-per-image must be"],
    [["--link-ttl", "0.5"], "--link-ttl must be"],
    [["--host", " "], "--host must not be empty"],
  ])("%j are refused", (words, message) => {
    expect(() => readArguments(words)).toThrow(ArgumentError);
    expect(() => readArguments(words)).toThrow(message);
  });
});
