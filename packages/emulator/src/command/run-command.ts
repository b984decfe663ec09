import { createEmulator } from "../emulator.js";
import type { AnsweredRequest, EmulatorServer } from "../server.js";
import { help } from "./help.js";
import { ArgumentError, type CommandArguments, readArguments } from "./read-arguments.js";

/** What the command needs of its process. */
export interface CommandHost {
  readonly version: string;
  /** To the standard output. */
  write(text: string): void;
  /** To the standard error. */
  complain(text: string): void;
  /** Settles when the user wants it to end. */
  untilStopped(): Promise<void>;
}

/** Runs the command to its end. The exit code: 0 done, 1 it could not listen, 2 the options make no sense. */
export async function runCommand(words: readonly string[], host: CommandHost): Promise<number> {
  try {
    return await run(readArguments(words), host);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    host.complain(`${error.message}\nSee calotype-emulator --help.\n`);
    return 2;
  }
}

async function run(given: CommandArguments, host: CommandHost): Promise<number> {
  switch (given.kind) {
    case "help":
      host.write(help);
      return 0;
    case "version":
      host.write(`${host.version}\n`);
      return 0;
    case "serve":
      return serve(given, host);
  }
}

async function serve(
  { emulator, listen, logs }: CommandArguments & { kind: "serve" },
  host: CommandHost,
): Promise<number> {
  let server: EmulatorServer;
  try {
    const onAnswered = (answered: AnsweredRequest) => host.complain(describe(answered));
    server = await createEmulator(emulator).listen({ ...listen, ...(logs ? { onAnswered } : {}) });
  } catch (error) {
    host.complain(`${explain(error, listen)}\n`);
    return 1;
  }
  host.write(welcome(server));
  await host.untilStopped();
  await server.close();
  return 0;
}

function welcome({ url, arkBaseUrl, dashscopeBaseUrl }: EmulatorServer): string {
  return `Ark        ${arkBaseUrl}
DashScope  ${dashscopeBaseUrl}
Faults     ${url}/_emulator/faults

ARK_BASE_URL=${arkBaseUrl}
ARK_API_KEY=any-key
DASHSCOPE_BASE_URL=${dashscopeBaseUrl}
DASHSCOPE_API_KEY=any-key

Stop with Ctrl+C.
`;
}

function explain(error: unknown, { port, host }: { port: number; host: string }): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is in use. Choose another: --port 0 takes any free one.`;
    case "EACCES":
      return `Port ${port} of ${host} is not allowed to you. Choose one above 1023.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is no address of this machine. Choose another --host.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function describe({ method, path, status, milliseconds }: AnsweredRequest): string {
  return `${new Date().toISOString()} ${method} ${path} ${status ?? "unanswered"} ${Math.round(milliseconds)} ms\n`;
}
