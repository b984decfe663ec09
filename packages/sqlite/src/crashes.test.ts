import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { assertConsistent } from "./testing/assert-consistent.js";
import { START } from "./testing/entries.js";
import { createRandom } from "./testing/random.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

const DAY_MS = 86_400_000;

/** Runs a process that dies after this number of writes, checks its file, and returns the lines it printed. */
async function workUntil(write: number): Promise<readonly string[]> {
  const path = temporaryFile();
  const lines = await spawnSource("work-and-print.ts", [path, "s", START, 2, 2, write]).lines;
  await assertConsistent(path, START + DAY_MS, lines);
  return lines;
}

describe("a process that is killed", () => {
  it("at any moment loses and duplicates no acknowledged write", { timeout: 90_000 }, async () => {
    const path = temporaryFile();
    const random = createRandom(20_260_131);
    const lines: string[] = [];

    // All on one file, so that every process continues with the file of the processes before it.
    for (let kill = 0; kill < 16; kill++) {
      const args = [path, `k${kill}`, START + kill * DAY_MS, 8, 1_000_000];
      const { child, started, lines: written } = spawnSource("work-and-print.ts", args);
      await started;
      await sleep(random() * 80);
      child.kill("SIGKILL");
      lines.push(...(await written));
      await assertConsistent(path, START + kill * DAY_MS + DAY_MS / 2, lines);
    }
    expect(lines.length).toBeGreaterThan(250);
  });

  it("after any write loses and duplicates no acknowledged write", { timeout: 90_000 }, async () => {
    let write = 0;
    let lines: readonly string[] = [];
    // Until the program ends before this number of writes.
    while (!lines.includes("closed")) {
      write += 2;
      [lines] = await Promise.all([workUntil(write), workUntil(write - 1)]);
    }
    expect(write).toBeGreaterThan(40);
  });
});
