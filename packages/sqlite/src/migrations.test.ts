import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { assertOurFile, migrate } from "./migrations.js";
import { temporaryFile } from "./testing/temporary-file.js";

const FIRST = "CREATE TABLE a (id TEXT) STRICT; INSERT INTO a VALUES ('kept');";
const SECOND = "ALTER TABLE a ADD COLUMN b TEXT DEFAULT 'added';";

const versionOf = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA user_version").get()?.["user_version"];

it("a file of an older format gets the missing steps, and keeps its data", () => {
  const path = temporaryFile();
  const older = new DatabaseSync(path);
  migrate(older, [FIRST]);
  older.close();

  const newer = new DatabaseSync(path);
  migrate(newer, [FIRST, SECOND]);
  expect({ ...newer.prepare("SELECT * FROM a").get() }).toEqual({ id: "kept", b: "added" });
  expect(versionOf(newer)).toBe(2);
  newer.close();
});

it("a step runs only once for a file", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, [FIRST]);
  migrate(database, [FIRST]);
  expect(database.prepare("SELECT id FROM a").all()).toHaveLength(1);
});

it("a step that fails leaves the file in its old format", () => {
  const database = new DatabaseSync(":memory:");
  migrate(database, [FIRST]);
  expect(() => migrate(database, [FIRST, `${SECOND} INSERT INTO nowhere VALUES (1);`])).toThrow("nowhere");
  expect(versionOf(database)).toBe(1);
  expect({ ...database.prepare("SELECT * FROM a").get() }).toEqual({ id: "kept" });
});

it("a file that another process creates at the same time is not mistaken for another program's", () => {
  const path = temporaryFile();
  const own = new DatabaseSync(path);
  const other = new DatabaseSync(path);
  const prepare = own.prepare.bind(own);
  let isMade = false;
  own.prepare = (sql) => {
    const statement = prepare(sql);
    if (!sql.includes("sqlite_schema")) return statement;
    try {
      migrate(other);
      isMade = true;
    } catch {
      // It has to wait until the check has ended.
    }
    return statement;
  };

  expect(() => assertOurFile(own)).not.toThrow();
  if (!isMade) migrate(other);
  expect(() => assertOurFile(own)).not.toThrow();
  own.close();
  other.close();
});
