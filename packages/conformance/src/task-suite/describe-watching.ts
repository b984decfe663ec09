import type { TaskChange } from "@calotype/core/stores";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { completionOf, submit, submitAll, sweepTasks, TTL_MS, take } from "./tasks.js";

const QUEUED: TaskChange = { kind: "queued" };
const CHANGED: TaskChange = { kind: "changed", id: "task_1" };

/** A listener is told after each change of its own ledger object. */
export function describeWatching(open: OpenTaskLedger): void {
  describe("a listener", () => {
    const bench = useTaskLedger(open);

    /** Returns the changes that were told since. */
    function watch(): TaskChange[] {
      const changes: TaskChange[] = [];
      const stop = bench().tasks.watch((change) => void changes.push(change));
      onTestFinished(stop);
      return changes;
    }

    it.each<[string, () => Promise<unknown>, TaskChange]>([
      ["submitted", async () => await submit(bench().ledger, "1"), QUEUED],
      [
        "put back",
        async () => {
          await take(bench().ledger);
          await bench().tasks.putBack(["task_taken"]);
        },
        QUEUED,
      ],
      ["cancelled", async () => await bench().tasks.cancel("me", "task_1"), CHANGED],
      [
        "put back by a sweep",
        async () => {
          await take(bench().ledger);
          await sweepTasks(bench().ledger, { own: true });
        },
        QUEUED,
      ],
      [
        "ended by a sweep",
        async () => {
          bench().clock.advance(TTL_MS);
          await sweepTasks(bench().ledger);
        },
        CHANGED,
      ],
    ])("is told that a task was %s", async (_what, change, told) => {
      const { ledger } = bench();
      await submitAll(ledger, told === QUEUED ? ["taken"] : ["1"]);
      const changes = watch();
      await change();

      await vi.waitFor(() => expect(changes).toContainEqual(told));
    });

    it("is told that a task was sent, got an image and ended", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await take(ledger);
      for (const change of [
        async () => await tasks.markSent("task_1"),
        async () => await tasks.addImages("task_1", ["one"]),
        async () => await tasks.end(completionOf("1")),
      ]) {
        const changes = watch();
        await change();
        await vi.waitFor(() => expect(changes).toContainEqual(CHANGED));
      }
    });

    it("sees the change in the store when it is told", async () => {
      const { ledger, tasks } = bench();
      const seen: unknown[] = [];
      const stop = tasks.watch(({ kind }) => {
        if (kind === "queued") void take(ledger).then((taken) => seen.push(...taken.map(({ id }) => id)));
      });
      onTestFinished(stop);
      await submit(ledger, "1");

      await vi.waitFor(() => expect(seen).toEqual(["task_1"]));
    });

    it("is told nothing after it has stopped, and the others still are", async () => {
      const { ledger, tasks } = bench();
      const told: TaskChange[] = [];
      const listener = (change: TaskChange): void => void told.push(change);
      const stop = tasks.watch(listener);
      const changes = watch();
      stop();
      stop();
      await submit(ledger, "1");

      await vi.waitFor(() => expect(changes).toContainEqual(QUEUED));
      expect(told).toEqual([]);
    });
  });
}
