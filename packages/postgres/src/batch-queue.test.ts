import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { createBatchQueue } from "./batch-queue.js";

interface Item {
  readonly id: string;
}

const refusal = (): Error => Object.assign(new Error("value too long"), { code: "22001" });

/** Creates a queue that records its batches. If `fail` returns an error for a batch, the batch fails with it. */
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

it("items that are added in one turn are processed together, and each promise gets its own result", async () => {
  const { batches, runAll } = createBench();
  expect(await runAll("abc")).toEqual(["done a", "done b", "done c"]);
  expect(batches).toEqual([["a", "b", "c"]]);
});

it("a second item with the same id is processed in another batch", async () => {
  const { batches, runAll } = createBench();
  expect(await runAll("aab")).toEqual(["done a", "done a", "done b"]);
  expect(batches.map((ids) => ids.join("")).toSorted()).toEqual(["a", "ab"]);
});

it("at most two batches run at the same time, and items that are added meanwhile form the next one", async () => {
  const { batches, queue } = createBench();
  const first = queue.run({ id: "a" });
  await new Promise(setImmediate);
  const others = ["b", "c", "d"].map((id) => queue.run({ id }));
  await Promise.all([first, ...others]);
  expect(batches).toEqual([["a"], ["b", "c", "d"]]);
});

it("more items than fit into one batch are processed in several", async () => {
  const { batches, queue } = createBench();
  await Promise.all(Array.from({ length: 600 }, (_, at) => queue.run({ id: String(at) })));
  expect(batches.map((ids) => ids.length)).toEqual([256, 256, 88]);
});

it("an item whose data the server rejects fails alone", async () => {
  const { runAll } = createBench((ids) => (ids.includes("c") ? refusal() : undefined));
  expect(await runAll("abcde")).toEqual(["done a", "done b", "Error: value too long", "done d", "done e"]);
});

it("if the database is not available, all items fail after one attempt", async () => {
  const { batches, runAll } = createBench(() => new Error("Connection terminated"));
  expect(await runAll("ab")).toEqual(["Error: Connection terminated", "Error: Connection terminated"]);
  expect(batches).toHaveLength(1);
});

it("settled waits for all items", async () => {
  const { batches, queue } = createBench();
  const runs = ["a", "b"].map((id) => queue.run({ id }));
  await queue.settled();
  expect(batches).toEqual([["a", "b"]]);
  await Promise.all(runs);
});

it("an item that waits too long rejects, and is not started afterwards", async () => {
  const batches: string[] = [];
  const gate = Promise.withResolvers<void>();
  const queue = createBatchQueue(20, async (items: readonly Item[]) => {
    batches.push(items.map(({ id }) => id).join(""));
    await gate.promise;
    return items.map(() => "done");
  });
  // Both lanes run a batch that does not end.
  const first = queue.run({ id: "a" });
  await new Promise(setImmediate);
  const second = queue.run({ id: "b" });
  await new Promise(setImmediate);
  const waiting = queue.run({ id: "c" });

  for (const run of [first, second, waiting]) await expect(run).rejects.toThrow("did not respond in time");
  gate.resolve();
  await queue.settled();
  expect(batches).toEqual(["a", "b"]);
});

it("onLate is called for an item that was committed after the timeout, but not for one that failed", async () => {
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
  for (const id of ["a", "b"]) await expect(queue.run({ id })).rejects.toThrow("did not respond in time");
  await queue.settled();
  expect(late).toEqual(["a: done a"]);
});
