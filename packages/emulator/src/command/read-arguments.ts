import { parseArgs } from "node:util";
import type { EmulatorOptions } from "../options.js";
import type { ListenOptions } from "../server.js";

/** What the arguments of the command request. */
export type CommandArguments =
  | { readonly kind: "help" | "version" }
  | {
      readonly kind: "serve";
      readonly emulator: EmulatorOptions;
      readonly listen: Required<Pick<ListenOptions, "port" | "host">>;
      readonly logs: boolean;
    };

/** An argument is invalid. The message says which one, and why. */
export class ArgumentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ArgumentError";
  }
}

const defaults = { port: 4010, host: "127.0.0.1" };
const largest = { port: 65_535, milliseconds: 2 ** 31 - 1, seconds: 10 ** 9, seed: 2 ** 32 - 1 };

export function readArguments(words: readonly string[]): CommandArguments {
  const given = parse(words);
  if (given.help === true) return { kind: "help" };
  if (given.version === true) return { kind: "version" };
  const millisecondsPerImage = readNumber(given, "ms-per-image", largest.milliseconds);
  const linkTtlSeconds = readNumber(given, "link-ttl", largest.seconds);
  const seed = readNumber(given, "seed", largest.seed);
  return {
    kind: "serve",
    emulator: {
      ...(given.tiny === true ? { images: "tiny" } : {}),
      ...(millisecondsPerImage === undefined ? {} : { millisecondsPerImage }),
      ...(linkTtlSeconds === undefined ? {} : { linkTtlSeconds }),
      ...(seed === undefined ? {} : { seed }),
    },
    listen: {
      port: readNumber(given, "port", largest.port) ?? defaults.port,
      host: readHost(given.host),
    },
    logs: given.log === true,
  };
}

type Given = ReturnType<typeof parse>;

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      strict: true,
      options: {
        port: { type: "string" },
        host: { type: "string" },
        tiny: { type: "boolean" },
        "ms-per-image": { type: "string" },
        "link-ttl": { type: "string" },
        seed: { type: "string" },
        log: { type: "boolean" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean", short: "v" },
      },
    }).values;
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? error.message : String(error));
  }
}

type NumberName = "port" | "ms-per-image" | "link-ttl" | "seed";

function readNumber(given: Given, name: NumberName, max: number): number | undefined {
  const text = given[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,10}$/.test(text) || Number(text) > max) {
    throw new ArgumentError(`--${name} must be a whole number from 0 to ${max}, not "${text}".`);
  }
  return Number(text);
}

function readHost(host = defaults.host): string {
  if (host.trim() === "") throw new ArgumentError("--host must not be empty.");
  return host;
}
