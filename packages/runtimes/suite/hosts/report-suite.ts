import process from "node:process";
import type { Host } from "../host.ts";
import { isProviderAddresses } from "../provider-addresses.ts";
import { runSuite } from "../suite.ts";

/**
 * Runs the suite on a host, prints its lines, and ends the process, with exit code 1 if a check failed. The first
 * argument has the addresses of the providers, as JSON.
 */
export async function reportSuite(host: Host): Promise<never> {
  const addresses: unknown = JSON.parse(process.argv[2] ?? "null");
  if (!isProviderAddresses(addresses))
    throw new Error("The first argument must be the addresses of the providers, as JSON.");
  let failed = false;
  for await (const line of runSuite(host, addresses)) {
    failed ||= line.startsWith("FAILED ");
    process.stdout.write(`${line}\n`);
  }
  process.exit(failed ? 1 : 0);
}
