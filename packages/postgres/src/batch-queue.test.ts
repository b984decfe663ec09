import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createBatchQueue } from "./batch-queue.js";

interface Item {
  readonly id: string;
}

const refusal = (): Error => Object.assign(new Error("value too long"), { code: "22001" });

/** A queue whose batches are noted; what `fail` gives for one is thrown. */
function createBench(fail: (ids: readonly string[]) => Error | undefined = () => undefined) {
  const batches: string[][] = [];
  const queue = createBatchQueue(1000, async (items: readonly Item[]) => {
    const ids = items.map(({ id }) => id);
    batches.push(ids);
    await sleep(1);
    const error = fail(ids);
    if (error !== undefined) throw error;
    return ids.map((id) => `done ${id}`);
  });
  const runAll = async (ids: string): Promise<string[]> => {
    const results = await Promise.allSettled(Array.from(ids, (id) => queue.run({ id })));
    return results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)));
  };
  return { batches, queue, runAll };
}

it("what is asked for in one turn is done together, and each is told its own result", async () => {
  const { batches, runAll } = createBench();
  expect(await runAll("abc")).toEqual(["done a", "done b", "done c"]);
  expect(batches).toEqual([["a", "b", "c"]]);
});

it("a second one of an id waits for a batch of its own", async () => {
  const { batches, runAll } = createBench();
  expect(await runAll("aab")).toEqual(["done a", "done a", "done b"]);
  expect(batches.map((ids) => ids.join("")).toSorted()).toEqual(["a", "ab"]);
});

it("at most two batches are under way, and the next one gathers what comes meanwhile", async () => {
  const { batches, queue } = createBench();
  const first = queue.run({ id: "a" });
  await new Promise(setImmediate);
  const others = ["b", "c", "d"].map((id) => queue.run({ id }));
  await Promise.all([first, ...others]);
  expect(batches).toEqual([["a"], ["b", "c", "d"]]);
});

it("more than a batch is done in several", async () => {
  const { batches, queue } = createBench();
  await Promise.all(Array.from({ length: 600 }, (_, at) => queue.run({ id: String(at) })));
  expect(batches.map((ids) => ids.length)).toEqual([256, 256, 88]);
});

it("one whose data is refused fails alone", async () => {
  const { runAll } = createBench((ids) => (ids.includes("c") ? refusal() : undefined));
  expect(await runAll("abcde")).toEqual(["done a", "done b", "Error: value too long", "done d", "done e"]);
});

it("where the database is away all are told, once", async () => {
  const { batches, runAll } = createBench(() => new Error("Connection terminated"));
  expect(await runAll("ab")).toEqual(["Error: Connection terminated", "Error: Connection terminated"]);
  expect(batches).toHaveLength(1);
});

it("settled waits for all that was asked for", async () => {
  const { batches, queue } = createBench();
  const runs = ["a", "b"].map((id) => queue.run({ id }));
  await queue.settled();
  expect(batches).toEqual([["a", "b"]]);
  await Promise.all(runs);
});

it("what waits too long is told so, and is not begun afterwards", async () => {
  const batches: string[] = [];
  const gate = Promise.withResolvers<void>();
  const queue = createBatchQueue(20, async (items: readonly Item[]) => {
    batches.push(items.map(({ id }) => id).join(""));
    await gate.promise;
    return items.map(() => "done");
  });
  // Both lanes are taken by what never ends.
  const first = queue.run({ id: "a" });
  await new Promise(setImmediate);
  const second = queue.run({ id: "b" });
  await new Promise(setImmediate);
  const waiting = queue.run({ id: "c" });

  for (const run of [first, second, waiting]) await expect(run).rejects.toThrow("no answer in time");
  gate.resolve();
  await queue.settled();
  expect(batches).toEqual(["a", "b"]);
});

it("what is done after its time is told of, and what fails is not", async () => {
  const late: string[] = [];
  const queue = createBatchQueue(
    20,
    async ([item]: readonly Item[]) => {
      await sleep(60);
      if (item?.id === "b") throw refusal();
      return [`done ${item?.id}`];
    },
    ({ id }, result) => late.push(`${id}: ${result}`),
  );
  for (const id of ["a", "b"]) await expect(queue.run({ id })).rejects.toThrow("no answer in time");
  await queue.settled();
  expect(late).toEqual(["a: done a"]);
});
