import { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * Kills this process after the statement with this number (from 1), before its result is returned. If that is a
 * COMMIT, the write is durable but not acknowledged; if it is the next statement, the write is acknowledged.
 * Statements that only read are not counted, because they do not change the file.
 *
 * @param counted which statements are counted. Default: all that do not begin with SELECT
 */
export function dieAfterWrite(number: number, counted = /^(?!SELECT)/): void {
  let count = 0;
  const wrap = (prototype: object, name: string): void => {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== "function") throw new Error(`SQLite has no ${name}.`);
    const wrapped = function (this: object, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      const sql = this instanceof StatementSync ? this.sourceSQL : "";
      if (counted.test(sql) && ++count === number) process.kill(process.pid, "SIGKILL");
      return result;
    };
    Reflect.set(prototype, name, wrapped);
  };
  wrap(DatabaseSync.prototype, "exec");
  for (const name of ["run", "get", "all"]) wrap(StatementSync.prototype, name);
}
