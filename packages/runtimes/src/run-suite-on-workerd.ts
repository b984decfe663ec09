import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { build } from "esbuild";
import type { ProviderAddresses } from "../suite/provider-addresses.ts";
import { PACKAGE } from "./folders.ts";
import { type ProgramEnd, plainEnvironment } from "./run-program.ts";

/** A worker with Node's modules, on a free port, that may call this machine. */
const toConfig = (version: string): string => `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  compatibilityFlags = ["nodejs_compat"],
  bindings = [(name = "version", text = "${version}")],
);
`;

/** Bundles the suite with a worker that serves its gateways, and asks that worker to run it. */
export async function runSuiteOnWorkerd(
  program: string,
  addresses: ProviderAddresses,
  timeoutMs: number,
): Promise<ProgramEnd> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-workerd-"));
  try {
    await bundleWorker(join(folder, "worker.js"));
    const config = join(folder, "config.capnp");
    const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
    await writeFile(config, toConfig(stdout.replace("workerd", "").trim()));
    return await serve(program, config, (origin) => askForSuite(origin, addresses, timeoutMs));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** As wrangler bundles: for the conditions of Workers, with Node's modules left to the runtime. */
async function bundleWorker(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(PACKAGE, "suite/hosts/on-workerd.ts")],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2023",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker"],
    external: builtinModules.flatMap((name) => [name, `node:${name}`]),
    // busboy is CommonJS and requires Node's modules.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire("/");',
    },
    logLevel: "error",
  });
}

async function serve(
  program: string,
  config: string,
  ask: (origin: string) => Promise<string>,
): Promise<ProgramEnd> {
  const child = spawn(program, ["serve", config, "--control-fd=3"], {
    env: plainEnvironment(),
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const errors = child.stderr === null ? "" : text(child.stderr);
  const exited = once(child, "exit");
  try {
    const output = await ask(`http://127.0.0.1:${await readPort(child)}`);
    child.kill();
    await exited;
    return { exitCode: /^FAILED /m.test(output) ? 1 : 0, output, errors: await errors };
  } finally {
    child.kill("SIGKILL");
  }
}

/** The port of the socket, which workerd writes to the control descriptor. */
async function readPort({ stdio: [, , , control] }: ChildProcess): Promise<string> {
  if (!(control instanceof Readable)) throw new TypeError("workerd has no control descriptor.");
  for await (const line of createInterface({ input: control })) {
    const port = /"port":(\d+)/.exec(line)?.[1];
    if (port !== undefined) return port;
  }
  throw new Error("workerd ended before it listened.");
}

async function askForSuite(origin: string, addresses: ProviderAddresses, timeoutMs: number): Promise<string> {
  const body = JSON.stringify(addresses);
  const response = await fetch(origin, { method: "POST", body, signal: AbortSignal.timeout(timeoutMs) });
  return response.text();
}
