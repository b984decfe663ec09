import { writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

/* Keeps the file locked for the given milliseconds. */
const [path = "", milliseconds = "0"] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec("BEGIN IMMEDIATE");
writeSync(1, "locked\n");
await sleep(Number(milliseconds));
database.exec("COMMIT");
database.close();
