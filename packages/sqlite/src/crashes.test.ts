import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { assertConsistent } from "./testing/assert-consistent.js";
import { START } from "./testing/entries.js";
import { findCopies } from "./testing/find-copies.js";
import { createRandom, SEED } from "./testing/random.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

const DAY_MS = 86_400_000;

describe("a process that is killed", () => {
  it("at any moment loses and duplicates no acknowledged write", { timeout: 90_000 }, async () => {
    const path = temporaryFile();
    const random = createRandom(SEED);
    const lines: string[] = [];

    // All on one file, so that every process continues with the file of the processes before it.
    for (let kill = 0; kill < 8; kill++) {
      const args = [path, `k${kill}`, START + kill * DAY_MS, 8, 1_000_000];
      const { child, started, lines: written } = spawnSource("work-and-print.ts", args);
      await started;
      await sleep(random() * 80);
      child.kill("SIGKILL");
      lines.push(...(await written));
      await assertConsistent(path, START + kill * DAY_MS + DAY_MS / 2, lines);
    }
    // Each process printed a line before it was killed.
    expect(lines.length).toBeGreaterThanOrEqual(8);
  });

  it("after any write loses and duplicates no acknowledged write", { timeout: 90_000 }, async () => {
    const args = [temporaryFile(), "s", START, 2, 2, "copies"];
    const copies = findCopies(await spawnSource("work-and-print.ts", args).lines);

    expect(copies.length).toBeGreaterThan(40);
    for (const { path, lines } of copies) await assertConsistent(path, START + DAY_MS, lines);
  });
});
