import { createEmulator } from "../emulator.js";
import { type ProviderName, providerNames } from "../provider-name.js";
import type { EmulatorServer, FinishedRequest } from "../server.js";
import { ArgumentError, type CommandArguments, readArguments } from "./read-arguments.js";

/** What the command uses of its process. */
export interface CommandHost {
  readonly version: string;
  /** Writes to the standard output. */
  write(text: string): void;
  /** Writes to the standard error. */
  writeError(text: string): void;
  /** Resolves when the user stops the command. */
  untilStopped(): Promise<void>;
}

/** Runs the command. Returns the exit code: 0 if the user stopped it, 1 if it cannot listen, 2 for invalid options. */
export async function runCommand(words: readonly string[], host: CommandHost): Promise<number> {
  try {
    return await run(readArguments(words), host);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    host.writeError(`${error.message}\nSee calotype-emulator --help.\n`);
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
    const onFinished = (request: FinishedRequest) => host.writeError(describe(request));
    server = await createEmulator(emulator).listen({ ...listen, ...(logs ? { onFinished } : {}) });
  } catch (error) {
    host.writeError(`${explain(error, listen)}\n`);
    return 1;
  }
  host.write(welcome(server));
  await host.untilStopped();
  await server.close();
  return 0;
}

/** The APIs in the order of the output, each with its name. */
const titles: Readonly<Record<ProviderName, string>> = {
  ark: "Ark",
  dashscope: "DashScope",
  openai: "OpenAI",
  azure: "Azure OpenAI",
  xai: "xAI",
  openrouter: "OpenRouter",
  together: "Together AI",
  siliconflow: "SiliconFlow",
  zhipu: "Zhipu",
  vllm: "vLLM",
  localai: "LocalAI",
  gemini: "Gemini",
  bfl: "BFL",
  fal: "fal",
  replicate: "Replicate",
  relay: "A relay",
  minimax: "MiniMax",
  recraft: "Recraft",
  mai: "MAI on Azure",
  ideogram: "Ideogram",
  tokenhub: "TokenHub",
  vertex: "Vertex AI",
};

function welcome({ url, baseUrls }: EmulatorServer): string {
  const lines = providerNames.map((name) => `${titles[name].padEnd(13)}${baseUrls[name]}`);
  const variables = providerNames.map((name) => {
    const prefix = name.toUpperCase();
    return `${prefix}_BASE_URL=${baseUrls[name]}\n${prefix}_API_KEY=any-key`;
  });
  return `${lines.join("\n")}
${"Faults".padEnd(13)}${url}/_emulator/faults

${variables.join("\n")}

Stop with Ctrl+C.
`;
}

function explain(error: unknown, { port, host }: { port: number; host: string }): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is in use. Choose another port. --port 0 uses any free port.`;
    case "EACCES":
      return `You may not use port ${port} of ${host}. Choose a port above 1023.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine. Choose another --host.`;
    default:
      return `Cannot listen on port ${port} of ${host}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function describe({ method, path, status, milliseconds }: FinishedRequest): string {
  return `${new Date().toISOString()} ${method} ${path} ${status ?? "no response"} ${Math.round(milliseconds)} ms\n`;
}

const help = `An emulator of the APIs of image providers on this machine: Volcengine Ark, Alibaba Cloud DashScope, OpenAI and
services with OpenAI's API, Google Gemini, BFL, fal, Replicate, and a relay that responds with tasks.

Usage: calotype-emulator [options]

  --port <number>          the port to listen on, 0 for any free port (default 4010)
  --host <address>         the address to listen on (default 127.0.0.1: this machine only)
  --tiny                   small images, for load tests
  --ms-per-image <number>  the time for an image in milliseconds (default 0; the real models take 19 to 60 s)
  --link-ttl <seconds>     how long a result link is valid (default: as with the provider)
  --seed <number>          the seed of all random values, so that runs repeat
  --log                    print a line for each request on stderr
  --help                   show this text
  --version                show the version

Any API key is accepted. The paths /_emulator/faults and /_emulator/requests show faults and recorded requests.
`;
