import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { createWriteQueue, type WriteQueue } from "./write-queue.js";

interface Bench {
  readonly database: DatabaseSync;
  readonly queue: WriteQueue;
  /** Resolves with the number of rows that a reader saw when the row was acknowledged. */
  readonly insert: (value: number) => Promise<number>;
}

function createBench(): Bench {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE a (value INTEGER NOT NULL UNIQUE)");
  const queue = createWriteQueue(database);
  const add = database.prepare("INSERT INTO a VALUES (?)");
  const count = (): number => Number(database.prepare("SELECT count(*) AS count FROM a").get()?.["count"]);
  return {
    database,
    queue,
    insert: async (value) => {
      await queue.run(() => add.run(value));
      return count();
    },
  };
}

it("writes of one turn are in one transaction", async () => {
  const { insert } = createBench();
  expect(await Promise.all([insert(1), insert(2), insert(3)])).toEqual([3, 3, 3]);
});

it("later writes are in the next transaction", async () => {
  const { insert } = createBench();
  expect(await insert(1)).toBe(1);
  expect(await insert(2)).toBe(2);
});

it("an operation that fails is undone alone", async () => {
  const { database, queue, insert } = createBench();
  const halfDone = queue.run(() => {
    database.exec("INSERT INTO a VALUES (7)");
    throw new Error("not today");
  });
  const [one, failed, double, two] = await Promise.allSettled([insert(1), halfDone, insert(1), insert(2)]);

  expect([one.status, two.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(failed).toMatchObject({ reason: new Error("not today") });
  expect(double).toMatchObject({ reason: { message: expect.stringContaining("UNIQUE") as string } });
  expect(database.prepare("SELECT value FROM a").all()).toMatchObject([{ value: 1 }, { value: 2 }]);
});

it("if the transaction fails, all its writes reject, and the next transaction works", async () => {
  const { database, queue, insert } = createBench();
  const rolledBack = queue.run(() => {
    database.exec("ROLLBACK");
    throw new Error("the disk is full");
  });
  const results = await Promise.allSettled([insert(1), rolledBack, insert(2)]);

  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(await insert(3)).toBe(1);
});

it("if the commit fails, no write resolves", async () => {
  const { database, queue, insert } = createBench();
  database.exec("CREATE TABLE b (value INTEGER REFERENCES a (value) DEFERRABLE INITIALLY DEFERRED)");
  const orphan = queue.run(() => database.exec("INSERT INTO b VALUES (99)"));
  const results = await Promise.allSettled([insert(1), orphan]);

  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await insert(1)).toBe(1);
});

it("a full disk rejects the writes that need space, and writes work again when there is space", async () => {
  const { database, queue, insert } = createBench();
  database.exec("CREATE TABLE large (text TEXT); PRAGMA max_page_count = 5");
  const tooLarge = queue.run(() => database.prepare("INSERT INTO large VALUES (?)").run("x".repeat(100_000)));
  const [, failed] = await Promise.allSettled([insert(1), tooLarge]);

  expect(failed).toMatchObject({ reason: { message: "database or disk is full" } });
  database.exec("PRAGMA max_page_count = 1000");
  await insert(2);
  expect(database.prepare("SELECT count(*) AS count FROM large").get()).toMatchObject({ count: 0 });
});

it("more writes than fit into one batch are written in order", async () => {
  const { database, insert } = createBench();
  await Promise.all(Array.from({ length: 1000 }, async (_, at) => await insert(at)));
  const rows = database.prepare("SELECT value FROM a ORDER BY rowid").all();
  expect(rows.map(({ value }) => value)).toEqual(Array.from({ length: 1000 }, (_, at) => at));
});
