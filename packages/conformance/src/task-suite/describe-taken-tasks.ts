import { describe, expect, it } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { completionOf, start, submit, submitAll, sweepTasks, take, taskOf } from "./tasks.js";

/** A task is sent once, and only while it may be sent. */
export function describeTakenTasks(open: OpenTaskLedger): void {
  describe("a taken task", () => {
    const bench = useTaskLedger(open);

    it("still waits for clients, until it is sent", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await take(ledger);
      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1"));
      expect(await tasks.markSent("task_1")).toBe(true);

      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1", { status: "in_progress" }));
    });

    it("is sent once, also if it is marked many times in parallel", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await take(ledger);
      const marked = await Promise.all(Array.from({ length: 20 }, () => tasks.markSent("task_1")));

      expect(marked.filter(Boolean)).toHaveLength(1);
      expect(await tasks.markSent("task_1")).toBe(false);
    });

    it("must not be sent if it was cancelled, has ended, was put back, was swept or is unknown", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["cancelled", "ended", "back", "swept"]);
      expect(await tasks.markSent("task_cancelled")).toBe(false);
      await take(ledger);
      await tasks.cancel("me", "task_cancelled");
      await tasks.end({ id: "task_ended", status: "failed" });
      await tasks.putBack(["task_back"]);
      await sweepTasks(ledger, { own: true });

      for (const name of ["cancelled", "ended", "back", "swept", "unknown"]) {
        expect(await tasks.markSent(`task_${name}`)).toBe(false);
      }
    });

    it("that is cancelled and marked in parallel is either sent or cancelled", async () => {
      const { ledger, tasks } = bench();
      const names = Array.from({ length: 20 }, (_, at) => String(at));
      await submitAll(ledger, names);
      await take(ledger);
      for (const name of names) {
        const id = `task_${name}`;
        const [isSent, cancelled] = await Promise.all([tasks.markSent(id), tasks.cancel("me", id)]);
        expect(cancelled?.task.status).toBe(isSent ? "in_progress" : "cancelled");
      }
    });

    it("shows its images in the order in which they arrived, while it is in progress", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      await tasks.addImages("task_1", ["one"]);
      await tasks.addImages("task_1", ["two", "three"]);
      await tasks.addImages("task_1", []);

      const images = ["one", "two", "three"];
      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1", { status: "in_progress", images }));
      expect(await tasks.list("me", { limit: 1 })).toMatchObject([{ images: [] }]);
    });

    it("gets no images before it is sent and after its end, nor if it is unknown", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await tasks.addImages("task_1", ["one"]);
      await take(ledger);
      await tasks.addImages("task_1", ["one"]);
      expect(await tasks.find("me", "task_1")).toMatchObject({ images: [] });
      await tasks.end(completionOf("1"));
      await tasks.addImages("task_1", ["one"]);
      await tasks.addImages("task_2", ["one"]);

      expect(await tasks.find("me", "task_1")).toMatchObject({ images: [] });
    });

    it.each([["x".repeat(1024 * 1024), "y"], ["a\0b"]])(
      "refuses images that are too long, or no strings of every store",
      async (...images) => {
        const { ledger, tasks } = bench();
        await start(ledger, "1");
        await expect(tasks.addImages("task_1", images)).rejects.toThrow(RangeError);

        expect(await tasks.find("me", "task_1")).toMatchObject({ images: [] });
      },
    );
  });
}
