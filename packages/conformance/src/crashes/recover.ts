import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerProcess } from "../support/spawn-server.ts";
import { callServer } from "./call-server.ts";
import { findProblems } from "./find-problems.ts";
import type { Site } from "./open-site.ts";
import { type LedgerContent, readLedgerFile } from "./read-ledger-file.ts";

/** The time limit for a sweep on a busy machine. */
const PATIENCE_MS = 10_000;

/**
 * Sends the first request to a new server, so that it sweeps the holds of the previous server. Returns the
 * differences between the ledger and the facts of clients and provider.
 */
export async function recover(site: Site, server: ServerProcess, name: string): Promise<readonly string[]> {
  const agent = new Agent();
  const first = { name: `${name}-first`, caller: "shop", n: 1, stream: false } as const;
  site.sightings.push(await callServer(server.url, first, agent));
  return findProblems(site, await readSettledLedger(site));
}

/** Reads the ledger when nothing is held. If something stays held, reads it after the time limit. */
async function readSettledLedger({ ledgerPath }: Site): Promise<LedgerContent> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const content = await readLedgerFile(ledgerPath);
    const isQuiet = Object.values(content.balances).every(({ held }) => held === "0");
    if (isQuiet || performance.now() > deadline) return content;
    await sleep(10);
  }
}
