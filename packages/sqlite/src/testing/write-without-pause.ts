import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { createWriteQueue } from "../write-queue.js";

/* Writes without a pause, in transactions of a second, until it is killed. */
const [path = ""] = process.argv.slice(2);
const database = new DatabaseSync(path, { timeout: 0 });
const queue = createWriteQueue(database);
database.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS a (value INTEGER)");
const insert = database.prepare("INSERT INTO a VALUES (1)");

const work = (): void => {
  insert.run();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
};
const repeat = async (): Promise<never> => {
  for (;;) await queue.run(work);
};
// Two, so that one always waits for its turn while the other is written.
void repeat();
void repeat();
void queue.run(() => writeSync(1, "writing\n"));
