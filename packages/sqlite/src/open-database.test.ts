import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { openDatabase } from "./open-database.js";
import { recordOf } from "./testing/entries.js";
import { spawnSource } from "./testing/spawn-source.js";
import { temporaryFile } from "./testing/temporary-file.js";

/** Returns the error of opening a file, and checks that the file has not changed. */
function refusalOf(path: string): string {
  try {
    openDatabase(path).close();
  } catch (error) {
    return String(error);
  }
  return "opened";
}

describe("a file is rejected at startup if", () => {
  it("its folder is missing", () => {
    const path = join(temporaryFile("missing"), "ledger.db");
    expect(refusalOf(path)).toBe(
      `Error: The ledger's file ${path} cannot be used: its folder must exist and be writable, and the path must not be a folder.`,
    );
  });

  it("the path is a folder", () => {
    const path = temporaryFile("folder");
    mkdirSync(path);
    expect(refusalOf(path)).toContain("must not be a folder");
  });

  it("the path is empty", () => {
    expect(refusalOf("")).toContain('path must name the file of the ledger, or be ":memory:"');
  });

  it("its content is not a database", () => {
    const path = temporaryFile();
    writeFileSync(path, "id,caller,charge\n".repeat(500));
    expect(refusalOf(path)).toContain("it is not an SQLite database");
    expect(readFileSync(path, "utf8")).toBe("id,caller,charge\n".repeat(500));
  });

  it("its pages are damaged", async () => {
    const path = temporaryFile();
    const ledger = createSqliteLedger({ path });
    await ledger.settle(recordOf({ id: "req_1" }));
    await ledger.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xff, 100, 4096));
    expect(refusalOf(path)).toContain("it is damaged");
  });

  it("another program uses it, and it stays unchanged", () => {
    const path = temporaryFile();
    const other = new DatabaseSync(path);
    other.exec("CREATE TABLE holds (id TEXT)");
    other.close();
    const before = readFileSync(path);
    expect(refusalOf(path)).toContain("it is the database of another program");
    expect(readFileSync(path)).toEqual(before);
  });

  it("a newer version wrote it", () => {
    const path = temporaryFile();
    const database = openDatabase(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    expect(refusalOf(path)).toMatch(
      /newer version of @calotype\/sqlite .* is 99, this one knows \d+\); update/,
    );
  });

  it("the file is read-only", () => {
    const path = temporaryFile();
    openDatabase(path).close();
    expect(refusalOf(`file:${path}?mode=ro`)).toContain("it is read-only");
  });
});

it("only the user of the process can read a new file and its log", () => {
  const path = temporaryFile();
  const database = openDatabase(path);
  const modes = ["", "-wal", "-shm"].map((end) => (statSync(path + end).mode & 0o777).toString(8));
  database.close();

  expect(modes).toEqual(["600", "600", "600"]);
});

it("a file keeps the permissions that it has", () => {
  const path = temporaryFile();
  writeFileSync(path, "");
  chmodSync(path, 0o640);
  openDatabase(path).close();

  expect((statSync(path).mode & 0o777).toString(8)).toBe("640");
});

it("every commit waits for the disk, and readers can read meanwhile", () => {
  const database = openDatabase(temporaryFile());
  const read = (pragma: string): unknown =>
    Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0];

  expect(read("synchronous")).toBe(2);
  expect(read("journal_mode")).toBe("wal");
  database.close();
});

it("processes that start at the same time with a new file can all open it", async () => {
  const path = temporaryFile();
  const args = (name: string): string[] => [path, name, "1769860800000", "1", "2"];
  const processes = ["a", "b", "c", "d", "e", "f"].map((name) =>
    spawnSource("work-and-print.ts", args(name)),
  );
  const lines = await Promise.all(processes.map((process) => process.lines));

  expect(lines.map((told) => told.at(-1))).toEqual(Array.from({ length: 6 }, () => "closed"));
});
