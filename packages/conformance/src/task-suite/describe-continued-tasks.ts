import { describe, expect, it } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  inputOf,
  lostRecordOf,
  namesOf,
  start,
  submit,
  submitAll,
  sweepTasks,
  take,
  taskOf,
} from "./tasks.js";

/** A task that was sent to a provider that works with jobs is continued by another process. */
export function describeContinuedTasks(open: OpenTaskLedger): void {
  describe("a task that was sent and can be continued", () => {
    const bench = useTaskLedger(open);

    it("waits for a worker after its process died, in progress, and before the queue", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["1", "2"]);
      await take(ledger, 1);
      await tasks.markSent("task_1");
      await tasks.keepUpstream?.("task_1", "first");
      await tasks.keepUpstream?.("task_1", "second");
      expect(await sweepTasks(ledger, { own: true })).toEqual({ lost: [], inputs: [] });

      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1", { status: "in_progress" }));
      expect(await tasks.take({ limit: 9, except: ["me"] })).toEqual([]);
      expect(await take(ledger)).toEqual([
        { ...taskOf("1", { status: "in_progress" }), input: inputOf("1"), upstream: "second" },
        { ...taskOf("2"), input: inputOf("2") },
      ]);
      expect(await take(ledger)).toEqual([]);
      await tasks.end(completionOf("1"));
      expect(await tasks.find("me", "task_1")).toMatchObject({ status: "completed" });
      expect(await ledger.balance("me")).toMatchObject({ held: "0.5" });
    });

    it("can be put back, and is not sent, cancelled or expired", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "1");
      await tasks.keepUpstream?.("task_1", "kept");
      await sweepTasks(ledger, { own: true });
      expect(await tasks.cancel("me", "task_1")).toEqual({ task: taskOf("1", { status: "in_progress" }) });
      await take(ledger);
      expect(await tasks.markSent("task_1")).toBe(false);
      await tasks.putBack(["task_1"]);
      clock.advance(3_600_000);
      expect(await sweepTasks(ledger)).toEqual({ lost: [], inputs: [] });

      expect(await take(ledger)).toMatchObject([{ id: "task_1", upstream: "kept" }]);
    });

    it("can be continued again if the next process dies too", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      await tasks.keepUpstream?.("task_1", "kept");
      for (let death = 0; death < 3; death++) {
        await sweepTasks(ledger, { own: true });
        expect(namesOf(await take(ledger))).toEqual(["1"]);
      }
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });

    it("keeps nothing unless it is in progress", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "queued");
      await tasks.keepUpstream?.("task_queued", "kept");
      await tasks.keepUpstream?.("task_unknown", "kept");
      await take(ledger);
      await tasks.markSent("task_queued");

      const swept = { lost: [lostRecordOf("queued", { charge: "0.5" })], inputs: [inputOf("queued")] };
      expect(await sweepTasks(ledger, { own: true })).toEqual(swept);
      await tasks.keepUpstream?.("task_queued", "kept");
      expect(await take(ledger)).toEqual([]);
    });

    it.each([
      ["a NUL", "a\0b"],
      ["an unpaired surrogate", "\ud800"],
      ["more than 1 MiB", "x".repeat(1024 * 1024 + 1)],
    ])("does not keep %s", async (_name, upstream) => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      await expect(tasks.keepUpstream?.("task_1", upstream)).rejects.toThrow(RangeError);
    });
  });
}
