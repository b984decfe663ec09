import { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * Kills this process when the statement of this number, from 1, was run and before anybody knows its result.
 * After a COMMIT that is before the world is told, after what follows a COMMIT it is when the world was told.
 * Statements that only read are not counted: after them the file is as it was before.
 */
export function dieAfterWrite(number: number): void {
  let count = 0;
  const wrap = (prototype: object, name: string): void => {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== "function") throw new Error(`SQLite has no ${name}.`);
    const wrapped = function (this: object, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      const sql = this instanceof StatementSync ? this.sourceSQL : "";
      if (!sql.startsWith("SELECT") && ++count === number) process.kill(process.pid, "SIGKILL");
      return result;
    };
    Reflect.set(prototype, name, wrapped);
  };
  wrap(DatabaseSync.prototype, "exec");
  for (const name of ["run", "get", "all"]) wrap(StatementSync.prototype, name);
}
