import { startProvider } from "../suite/provider.ts";
import type { ProviderAddresses } from "../suite/provider-addresses.ts";
import { PACKAGE } from "./folders.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";
import { runSuiteOnWorkerd } from "./run-suite-on-workerd.ts";
import type { Runtime } from "./runtime.ts";

const ARGUMENTS = {
  node: ["suite/hosts/on-node.ts"],
  bun: ["suite/hosts/on-bun.ts"],
  deno: ["run", "--no-lock", "--allow-net", "suite/hosts/on-deno.ts"],
} as const;

const TIMEOUT_MS = 200_000;

/** Runs the suite on a runtime, in a process of its own, against providers in this one. */
export async function runSuite(runtime: Runtime): Promise<ProgramEnd> {
  const provider = await startProvider();
  try {
    return await startSuite(runtime, provider.addresses);
  } finally {
    await provider.close();
  }
}

function startSuite({ kind, program }: Runtime, addresses: ProviderAddresses): Promise<ProgramEnd> {
  if (kind === "workerd") return runSuiteOnWorkerd(program, addresses, TIMEOUT_MS);
  const args = [...ARGUMENTS[kind], JSON.stringify(addresses)];
  return runProgram(program, args, { cwd: PACKAGE, timeoutMs: TIMEOUT_MS });
}
