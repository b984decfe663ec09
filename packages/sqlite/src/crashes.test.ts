import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { assertBooks } from "./testing/assert-books.js";
import { START } from "./testing/entries.js";
import { createRandom } from "./testing/random.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

const DAY_MS = 86_400_000;

/** The lines of a process that dies after so many writes, in a file of its own that holds what it must. */
async function workUntil(write: number): Promise<readonly string[]> {
  const path = temporaryFile();
  const lines = await spawnSource("work-and-tell.ts", [path, "s", START, 2, 2, write]).lines;
  await assertBooks(path, START + DAY_MS, lines);
  return lines;
}

describe("a process that is killed", () => {
  it("at any moment loses and doubles nothing that it acknowledged", { timeout: 90_000 }, async () => {
    const path = temporaryFile();
    const random = createRandom(20_260_131);
    const lines: string[] = [];

    // On one file, so that every process finds what the ones before it left.
    for (let kill = 0; kill < 32; kill++) {
      const args = [path, `k${kill}`, START + kill * DAY_MS, 8, 1_000_000];
      const { child, started, lines: written } = spawnSource("work-and-tell.ts", args);
      await started;
      await sleep(random() * 80);
      child.kill("SIGKILL");
      lines.push(...(await written));
      await assertBooks(path, START + kill * DAY_MS + DAY_MS / 2, lines);
    }
    expect(lines.length).toBeGreaterThan(500);
  });

  it("after any write loses and doubles nothing that it acknowledged", { timeout: 90_000 }, async () => {
    let write = 0;
    let lines: readonly string[] = [];
    // Until the program has not so many writes.
    while (!lines.includes("closed")) {
      write += 2;
      [lines] = await Promise.all([workUntil(write), workUntil(write - 1)]);
    }
    expect(write).toBeGreaterThan(40);
  });
});
