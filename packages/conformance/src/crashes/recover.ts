import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerProcess } from "../support/spawn-server.ts";
import { callServer } from "./call-server.ts";
import { findProblems } from "./find-problems.ts";
import type { Site } from "./open-site.ts";
import { type Books, readBooks } from "./read-books.ts";

/** A sweep is done in a moment; a machine that has much to do may take longer. */
const PATIENCE_MS = 10_000;

/**
 * Lets a server that was just started do its first request, with which it sweeps the holds of the one before it, and
 * tells where the books do not agree with all that clients saw and the provider got so far.
 */
export async function recover(site: Site, server: ServerProcess, name: string): Promise<readonly string[]> {
  const agent = new Agent();
  const first = { name: `${name}-first`, caller: "shop", n: 1, stream: false } as const;
  site.sightings.push(await callServer(server.url, first, agent));
  return findProblems(site, await readQuietBooks(site));
}

/** The books when nothing is held any more, or as they are when something is held for ever. */
async function readQuietBooks({ ledgerPath }: Site): Promise<Books> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const books = await readBooks(ledgerPath);
    const isQuiet = Object.values(books.balances).every(({ held }) => held === "0");
    if (isQuiet || performance.now() > deadline) return books;
    await sleep(10);
  }
}
