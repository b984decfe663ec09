import type { AllTasksQuery, Task } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { START } from "../ledger-suite/clock.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { completionOf, listAll, namesOf, start, submit, submitAll, TTL_MS, taskOf } from "./tasks.js";

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => String(from + at));

/** A caller sees its own tasks, the newest first. */
export function describeTaskLists(open: OpenTaskLedger): void {
  describe("the tasks of a caller", () => {
    const bench = useTaskLedger(open);

    it("are listed in pages, the newest first", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, numbers(0, 25));

      const first = await tasks.list("me", { limit: 10 });
      expect(namesOf(first)).toEqual(numbers(15, 25).toReversed());
      const second = await tasks.list("me", { limit: 10, after: "task_15" });
      expect(namesOf(second)).toEqual(numbers(5, 15).toReversed());
      expect(namesOf(await tasks.list("me", { limit: 10, after: "task_5" }))).toEqual(
        numbers(0, 5).toReversed(),
      );
      expect(await tasks.list("me", { limit: 10, after: "task_0" })).toEqual([]);
    });

    it("are listed once each while others are added and end", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, numbers(0, 20));
      const seen: Task[] = [];
      for (let page = 0; page < 4; page++) {
        seen.push(...(await tasks.list("me", { limit: 5, after: seen.at(-1)?.id })));
        await submitAll(ledger, numbers(100 + page * 3, 103 + page * 3));
        await tasks.cancel("me", `task_${page * 5}`);
      }

      expect(namesOf(seen)).toEqual(numbers(0, 20).toReversed());
      expect(await listAll(tasks)).toHaveLength(32);
    });

    it("are listed in the order of their submission, also if the clock stands still or is set back", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1");
      await submit(ledger, "2");
      clock.advance(-5_000);
      await submit(ledger, "3");

      expect(await tasks.list("me", { limit: 100 })).toEqual([
        taskOf("3", { createdAt: START - 5_000, expiresAt: START - 5_000 + TTL_MS }),
        taskOf("2"),
        taskOf("1"),
      ]);
    });

    it("are listed with those of other callers for an operator, by caller and state, with counts", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "0");
      await submitAll(ledger, numbers(1, 3));
      await submit(ledger, "other", { caller: "you" });
      await tasks.cancel("me", "task_1");
      const listed = async (query: Omit<AllTasksQuery, "limit">, limit = 10) =>
        namesOf((await tasks.listAll?.({ ...query, limit }))?.tasks ?? []);

      expect(await tasks.listAll?.({ limit: 10 })).toMatchObject({
        queued: 2,
        inProgress: 1,
        tasks: { length: 4 },
      });
      expect(await listed({}, 2)).toEqual(["other", "2"]);
      expect(await listed({ caller: "you" })).toEqual(["other"]);
      expect(await listed({ statuses: ["queued"] })).toEqual(["other", "2"]);
      expect(await listed({ statuses: ["completed", "cancelled"], caller: "me" })).toEqual(["1"]);
    });

    it("are listed without their images and their results", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      await tasks.addImages("task_1", ["one"]);
      expect(await tasks.list("me", { limit: 1 })).toEqual([taskOf("1", { status: "in_progress" })]);
      await tasks.end(completionOf("1"));
      const { result, ...ended } = (await tasks.find("me", "task_1")) ?? taskOf("1");

      expect(result).toBeDefined();
      expect(await tasks.list("me", { limit: 1 })).toEqual([ended]);
    });

    it("are listed in every state", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "sent");
      await submitAll(ledger, ["cancelled", "queued"]);
      clock.advance(1);
      await tasks.cancel("me", "task_cancelled");

      expect(await tasks.list("me", { limit: 100 })).toEqual([
        taskOf("queued"),
        taskOf("cancelled", { status: "cancelled", endedAt: START + 1 }),
        taskOf("sent", { status: "in_progress" }),
      ]);
    });

    it("are seen by that caller only", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await submit(ledger, "2", { caller: "other" });

      expect(await tasks.find("other", "task_1")).toBeUndefined();
      expect(await tasks.find("other", "task_2")).toEqual(taskOf("2", { caller: "other" }));
      expect(namesOf(await tasks.list("me", { limit: 100 }))).toEqual(["1"]);
      expect(await tasks.list("third", { limit: 100 })).toEqual([]);
    });

    it("end with an unknown cursor, and with one of another caller", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["1", "2"]);
      await submit(ledger, "other", { caller: "other" });

      expect(await tasks.list("me", { limit: 100, after: "task_unknown" })).toEqual([]);
      expect(await tasks.list("me", { limit: 100, after: "task_other" })).toEqual([]);
    });
  });
}
