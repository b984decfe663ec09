import { createBench } from "./bench.ts";
import type { Check } from "./check.ts";
import { app } from "./checks/app.ts";
import { clients } from "./checks/clients.ts";
import { closing } from "./checks/closing.ts";
import { downloads } from "./checks/downloads.ts";
import { failures } from "./checks/failures.ts";
import { forms } from "./checks/forms.ts";
import { largeResponses } from "./checks/large-responses.ts";
import { ownClient } from "./checks/own-client.ts";
import { paths } from "./checks/paths.ts";
import { refusals } from "./checks/refusals.ts";
import { responses } from "./checks/responses.ts";
import { slowClients } from "./checks/slow-clients.ts";
import { streams } from "./checks/streams.ts";
import { studio } from "./checks/studio.ts";
import type { Host } from "./host.ts";
import type { ProviderAddresses } from "./provider-addresses.ts";

/** The checks of a gateway on every runtime, in order. */
export const CHECKS: readonly Check[] = [
  ...responses,
  ...paths,
  ...clients,
  ...ownClient,
  ...app,
  ...downloads,
  ...forms,
  ...streams,
  ...largeResponses,
  ...refusals,
  ...failures,
  ...slowClients,
  ...studio,
  ...closing,
];

/**
 * Runs every check in the runtime that calls it, and gives one line for each: `ok <name>`,
 * `FAILED <name>: <why>` or `left out <name>: <why>`. The last line counts them.
 */
export async function* runSuite(host: Host, addresses: ProviderAddresses): AsyncGenerator<string> {
  const bench = createBench(host, addresses);
  const counts = { ok: 0, FAILED: 0, "left out": 0 };
  for (const check of CHECKS) {
    await bench.reset();
    const reason = host.cannot[check.name];
    const problem = reason ?? (await findProblem(() => check.run(bench)));
    const outcome = reason !== undefined ? "left out" : problem === undefined ? "ok" : "FAILED";
    counts[outcome]++;
    yield problem === undefined ? `ok ${check.name}` : `${outcome} ${check.name}: ${problem}`;
  }
  yield `${host.runtime}: ${counts.ok} ok, ${counts.FAILED} failed, ${counts["left out"]} left out`;
}

const MAX_CHECK_MS = 20_000;

async function findProblem(run: () => Promise<void>): Promise<string | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no end within ${MAX_CHECK_MS} ms`), MAX_CHECK_MS);
  });
  try {
    return await Promise.race([run().then(() => undefined), late]);
  } catch (error) {
    return describeError(error).replaceAll("\n", " ");
  } finally {
    clearTimeout(timer);
  }
}

/** With the cause, because `fetch` says only that it failed. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : ` (${describeError(error.cause)})`;
  return `${error.name}: ${error.message}${cause}`;
}
