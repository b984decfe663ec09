import { describe, expect, it } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  KEEP_MS,
  namesOf,
  submissionOf,
  submit,
  sweepTasks,
  type TaskFields,
  take,
  taskOf,
} from "./tasks.js";

const repeat = { key: "key", fingerprint: "content" };

/** An idempotency key finds the task of the first submission as long as the task is kept. */
export function describeRepeats(open: OpenTaskLedger): void {
  describe("a submission with an idempotency key", () => {
    const bench = useTaskLedger(open);

    it("that is repeated gives the first task, and makes no other task and no hold", async () => {
      const { ledger, tasks } = bench();
      expect(await submit(ledger, "1", { repeat })).toEqual({ kind: "submitted", task: taskOf("1") });

      expect(await submit(ledger, "2", { repeat })).toEqual({ kind: "repeated", task: taskOf("1") });
      expect(await tasks.find("me", "task_2")).toBeUndefined();
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
      expect(namesOf(await take(ledger))).toEqual(["1"]);
    });

    it("that is repeated gives the task as it is now, with a budget that is used up", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1", { repeat, budget: "0.5" });
      await tasks.cancel("me", "task_1");

      expect(await submit(ledger, "2", { repeat, budget: "0" })).toMatchObject({
        kind: "repeated",
        task: { id: "task_1", status: "cancelled" },
      });
    });

    it("and other content is a conflict, and changes nothing", async () => {
      const { ledger } = bench();
      await submit(ledger, "1", { repeat });

      const other = { ...repeat, fingerprint: "other content" };
      expect(await submit(ledger, "2", { repeat: other })).toEqual({ kind: "conflict" });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
      expect(namesOf(await take(ledger))).toEqual(["1"]);
    });

    it("has a key of its own, and none means none", async () => {
      const { ledger } = bench();
      await submit(ledger, "1", { repeat });
      const fields: TaskFields[] = [{ repeat: { ...repeat, key: "other" } }, {}, { repeat: undefined }];
      for (const [at, field] of fields.entries()) {
        expect(await submit(ledger, `more-${at}`, field)).toMatchObject({ kind: "submitted" });
      }
      expect(await take(ledger)).toHaveLength(4);
    });

    it("makes one task if it is sent many times in parallel", async () => {
      const { ledger } = bench();
      const submitted = await Promise.all(
        Array.from({ length: 20 }, (_, at) => submit(ledger, String(at), { repeat })),
      );

      expect(submitted.filter(({ kind }) => kind === "submitted")).toHaveLength(1);
      expect(submitted.filter(({ kind }) => kind === "repeated")).toHaveLength(19);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });

    it("that was refused leaves the key free", async () => {
      const { ledger } = bench();
      expect(await submit(ledger, "1", { repeat, budget: "0" })).toMatchObject({ kind: "refused" });

      expect(await submit(ledger, "2", { repeat })).toMatchObject({ kind: "submitted" });
    });

    it("has a free key again when the first task is deleted", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1", { repeat });
      await tasks.cancel("me", "task_1");
      clock.advance(KEEP_MS - 1);
      await sweepTasks(ledger);
      expect(await submit(ledger, "2", { repeat })).toMatchObject({ kind: "repeated" });
      clock.advance(1);
      await sweepTasks(ledger);

      expect(await submit(ledger, "2", { repeat })).toMatchObject({ kind: "submitted" });
    });
  });

  describe("a submission with the id of another one", () => {
    const bench = useTaskLedger(open);

    it("gives the first task, and changes nothing", async () => {
      const { ledger } = bench();
      await submit(ledger, "1");

      expect(await submit(ledger, "1", { input: "other" })).toEqual({ kind: "repeated", task: taskOf("1") });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
      expect(await take(ledger)).toHaveLength(1);
    });

    it("is a conflict if it is another caller's", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      const [task, hold] = submissionOf("1", { caller: "other" });

      expect(await tasks.submit(task, hold)).toEqual({ kind: "conflict" });
      expect(await ledger.balance("other")).toEqual({ settled: "0", held: "0" });
    });
  });
}
