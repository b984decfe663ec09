import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";
import { createWriteQueue, retryWhileBusy } from "./write-queue.js";

it("a file that stays locked is an error after the time limit, and a file that is unlocked in time is not", async () => {
  const path = temporaryFile();
  const [holder, waiting] = [new DatabaseSync(path), new DatabaseSync(path, { timeout: 0 })];
  holder.exec("BEGIN IMMEDIATE");
  const begin = (): void => waiting.exec("BEGIN IMMEDIATE");

  await expect(retryWhileBusy(begin, 30)).rejects.toThrow(
    "Another process keeps the ledger's file locked for more than 30 ms.",
  );
  setTimeout(() => holder.exec("COMMIT"), 30);
  await retryWhileBusy(begin, 10_000);
  expect(waiting.isTransaction).toBe(true);
  holder.close();
  waiting.close();
});

it("other errors are not retried", async () => {
  let attempts = 0;
  const attempt = (): void => {
    attempts++;
    throw new Error("no such table");
  };
  await expect(retryWhileBusy(attempt)).rejects.toThrow("no such table");
  expect(attempts).toBe(1);
});

it("a process that writes without a pause lets others write", { timeout: 60_000 }, async () => {
  const path = temporaryFile();
  const busy = spawnSource("write-without-pause.ts", [path]);
  await busy.started;
  const database = new DatabaseSync(path, { timeout: 0 });
  const queue = createWriteQueue(database);
  const insert = database.prepare("INSERT INTO a VALUES (2)");

  // Each would be an error if it got no turn within ten seconds.
  for (let write = 0; write < 3; write++) await queue.run(() => insert.run());
  busy.child.kill("SIGKILL");
  await busy.lines;
  expect(database.prepare("SELECT count(*) AS count FROM a WHERE value = 2").get()).toEqual({ count: 3 });
  database.close();
});
