import { describe, expect, it } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { inputOf, namesOf, start, submit, submitAll, sweepTasks, TTL_MS, take, taskOf } from "./tasks.js";

const numbers = (length: number, prefix = ""): string[] =>
  Array.from({ length }, (_, at) => `${prefix}${String(at).padStart(5, "0")}`);

/** Tasks are taken once, in a fair order. */
export function describeQueue(open: OpenTaskLedger, queueLength: number): void {
  describe("the queue of tasks", () => {
    const bench = useTaskLedger(open);

    it("gives a task with its input, once", async () => {
      const { ledger } = bench();
      await submit(ledger, "1");

      expect(await take(ledger)).toEqual([{ ...taskOf("1"), input: inputOf("1") }]);
      expect(await take(ledger)).toEqual([]);
    });

    it("gives the tasks of a caller in the order of their submission, at most as many as asked for", async () => {
      const { ledger } = bench();
      await submitAll(ledger, numbers(30));

      expect(namesOf(await take(ledger, 7))).toEqual(numbers(30).slice(0, 7));
      expect(namesOf(await take(ledger, 100))).toEqual(numbers(30).slice(7));
    });

    it("gives each task once to many that take in parallel", async () => {
      const { ledger } = bench();
      await submitAll(ledger, numbers(40));
      const taken = await Promise.all(Array.from({ length: 20 }, () => take(ledger, 3)));

      expect(namesOf(taken.flat()).toSorted()).toEqual(numbers(40));
    });

    it("gives nothing that was cancelled or has ended", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["1", "2", "3"]);
      await tasks.cancel("me", "task_2");

      expect(namesOf(await take(ledger))).toEqual(["1", "3"]);
    });

    it("gives nothing whose time is over, before a sweep and after it", async () => {
      const { ledger, clock } = bench();
      await submit(ledger, "1");
      await submit(ledger, "2", { ttlMs: TTL_MS + 1 });
      clock.advance(TTL_MS);

      expect(namesOf(await take(ledger))).toEqual(["2"]);
      await sweepTasks(ledger);
      expect(await take(ledger)).toEqual([]);
    });

    it("gives a newcomer's first task with the next ones, though another caller has many", async () => {
      const { ledger } = bench();
      for (let at = 0; at < queueLength; at += 500) {
        const names = numbers(Math.min(500, queueLength - at), `many-${at}-`);
        await Promise.all(names.map((name) => submit(ledger, name, { caller: "many" })));
      }
      await take(ledger, 50);
      await submitAll(ledger, ["new-1", "new-2"], { caller: "new" });

      expect(namesOf(await take(ledger, 2))).toContain("new-1");
      expect(namesOf(await take(ledger, 2))).toContain("new-2");
    });

    it("gives each of several callers its turn", async () => {
      const { ledger } = bench();
      for (const caller of ["a", "b", "c"]) await submitAll(ledger, numbers(10, caller), { caller });
      const callers: string[] = [];
      for (let at = 0; at < 12; at++) callers.push(...(await take(ledger, 1)).map(({ caller }) => caller));

      expect(callers.toSorted().join("")).toBe("aaaabbbbcccc");
      const callersOfNine = (await take(ledger, 9)).map(({ caller }) => caller);
      expect(callersOfNine.toSorted().join("")).toBe("aaabbbccc");
    });

    it.each<[string, number, readonly string[]]>([
      ["from the beginning", 0, []],
      ["after some of them were taken", 5, []],
      ["while a third caller is left out", 5, ["stuck"]],
    ])(
      "gives a caller with many tasks its turns %s, though another always submits the next one",
      async (_when, before, except) => {
        const { ledger } = bench();
        for (const caller of except) await submitAll(ledger, numbers(20, caller), { caller });
        await submitAll(ledger, numbers(30, "many"), { caller: "many" });
        for (let at = 0; at < before; at++) await take(ledger, 1, except);
        const callers: string[] = [];
        for (let at = 0; at < 20; at++) {
          await submit(ledger, `one${at}`, { caller: "one" });
          callers.push(...(await take(ledger, 1, except)).map(({ caller }) => caller));
        }

        const count = callers.filter((caller) => caller === "many").length;
        expect(count).toBeGreaterThanOrEqual(8);
        expect(count).toBeLessThanOrEqual(12);
      },
    );

    it("gives the others their turns while a caller is left out, and that one afterwards", async () => {
      const { ledger } = bench();
      for (const caller of ["a", "b", "c"]) await submitAll(ledger, numbers(6, caller), { caller });

      expect(namesOf(await take(ledger, 4, ["a"])).toSorted()).toEqual([
        "b00000",
        "b00001",
        "c00000",
        "c00001",
      ]);
      expect(await take(ledger, 9, ["a", "b", "c", "unknown"])).toEqual([]);
      expect(namesOf(await take(ledger, 100)).filter((name) => name.startsWith("a"))).toEqual(
        numbers(6, "a"),
      );
    });

    it("may leave out a thousand callers", async () => {
      const { ledger } = bench();
      const callers = numbers(1_000, "caller");
      await submit(ledger, "1", { caller: callers[500] ?? "" });
      await submit(ledger, "2", { caller: "other" });

      expect(namesOf(await take(ledger, 9, callers))).toEqual(["2"]);
      expect(namesOf(await take(ledger, 9, []))).toEqual(["1"]);
    });

    it("gets tasks back at their old places", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["1", "2", "3", "4"]);
      await take(ledger, 3);
      await tasks.putBack(["task_3", "task_1"]);
      await tasks.putBack([]);

      expect(namesOf(await take(ledger))).toEqual(["1", "3", "4"]);
    });

    it("gets back only what was taken and not sent", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "sent");
      await submitAll(ledger, ["ended", "cancelled", "queued"]);
      await take(ledger, 2);
      await tasks.end({ id: "task_ended", status: "failed" });
      await tasks.cancel("me", "task_cancelled");
      await tasks.putBack(["task_sent", "task_ended", "task_cancelled", "task_queued", "task_unknown"]);

      expect(namesOf(await take(ledger))).toEqual(["queued"]);
    });
  });
}
