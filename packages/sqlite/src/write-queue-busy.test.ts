import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { temporaryFile } from "./testing/temporary-file.js";
import { retryWhileBusy } from "./write-queue.js";

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
