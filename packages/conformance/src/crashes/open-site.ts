import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LostPolicy } from "@calotype/core/billing";
import { createEmulator, type Emulator } from "@calotype/emulator";
import { type NextServer, type ServerProcess, spawnServer } from "../support/spawn-server.ts";
import type { Sighting } from "./call-server.ts";
import type { ServerPlan } from "./server-plan.ts";

/**
 * A ledger file and a provider, which several servers use one after another, and the results of their
 * clients.
 */
export interface Site {
  readonly emulator: Emulator;
  readonly ledgerPath: string;
  readonly sinkPath: string;
  readonly onLost: LostPolicy;
  /** The results of the clients of all servers. */
  readonly sightings: Sighting[];
  /** Starts the next server, with a clock that is a minute ahead. */
  startServer(changes?: PlanChanges): Promise<ServerProcess>;
  /** Stops the servers and the provider, and removes the files. */
  close(): Promise<void>;
}

/** The differences from the default plan. */
type PlanChanges = Partial<Omit<ServerPlan, "ledgerPath" | "sinkPath" | "arkBaseUrl" | "onLost">>;

const PROGRAM = new URL("server-process.ts", import.meta.url);

/** Longer than any lease. */
const PAUSE_MS = 60_000;

export async function openSite(onLost: LostPolicy, seed: number): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), "calotype-crashes-"));
  const emulator = createEmulator({ images: "tiny", millisecondsPerImage: 10, seed });
  const provider = await emulator.listen();
  const paths = { ledgerPath: join(folder, "ledger.db"), sinkPath: join(folder, "usage.jsonl") };
  let starts = 0;
  const prepared: NextServer<ServerPlan>[] = [];
  const prepareServer = (): NextServer<ServerPlan> => {
    const server = spawnServer<ServerPlan>(PROGRAM);
    prepared.push(server);
    return server;
  };
  let next = prepareServer();
  return {
    ...paths,
    emulator,
    onLost,
    sightings: [],
    startServer(changes) {
      starts++;
      const { arkBaseUrl } = provider;
      const aheadMs = starts * PAUSE_MS;
      const server = next.start({ ...paths, arkBaseUrl, onLost, aheadMs, deadlineSeconds: 20, ...changes });
      // Only loads its code until it gets its plan.
      next = prepareServer();
      return server;
    },
    async close() {
      await Promise.all(prepared.map((server) => server.kill()));
      await provider.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
