import { copyFileSync, existsSync, writeSync } from "node:fs";
import { DatabaseSync, StatementSync } from "node:sqlite";

/** The database, its write-ahead log, and the index of the log. */
const FILES = ["", "-wal", "-shm"];

/**
 * Copies the files of a ledger after each statement, before its result is returned. The copy is what a process leaves that
 * is killed at this moment: after a COMMIT the write is durable but not acknowledged, and after the next statement it is
 * acknowledged. Prints `copy` and the path of the copy, so that the lines before it are what such a process printed.
 * Statements that only read are not counted, because they do not change the file.
 *
 * @param counted which statements are counted. Default: all that do not begin with SELECT
 */
export function copyAfterWrites(path: string, counted = /^(?!SELECT)/): void {
  let count = 0;
  const wrap = (prototype: object, name: string): void => {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== "function") throw new Error(`SQLite has no ${name}.`);
    const wrapped = function (this: object, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      const sql = this instanceof StatementSync ? this.sourceSQL : "";
      if (counted.test(sql) && existsSync(path)) copyFiles(path, `${path}-${++count}`);
      return result;
    };
    Reflect.set(prototype, name, wrapped);
  };
  wrap(DatabaseSync.prototype, "exec");
  for (const name of ["run", "get", "all"]) wrap(StatementSync.prototype, name);
}

function copyFiles(path: string, copy: string): void {
  for (const end of FILES) if (existsSync(path + end)) copyFileSync(path + end, copy + end);
  writeSync(1, `copy ${copy}\n`);
}
