import type { Balance, TaskStatus } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { START } from "../ledger-suite/clock.js";
import { idsOf, peekUndelivered, readRecords } from "../ledger-suite/read-ledger.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  EXPIRED_ERROR,
  inputOf,
  KEEP_MS,
  LOST_ERROR,
  lostRecordOf,
  start,
  submit,
  submitAll,
  sweepTasks,
  TTL_MS,
  take,
  taskOf,
  taskRecordOf,
} from "./tasks.js";

type Stage = "queued" | "taken" | "sent";
type TaskEnding = "complete" | "fail" | "cancel" | "expire" | "lose";

const HELD: Balance = { settled: "0", held: "0.5" };
const NOTHING: Balance = { settled: "0", held: "0" };
const CHARGED: Balance = { settled: "0.3", held: "0" };
const LOST: Balance = { settled: "0.5", held: "0" };

/** A task in each stage, what happens to it, and what becomes of it and of its hold of 0.5. */
const CASES: readonly (readonly [Stage, TaskEnding, TaskStatus, Balance])[] = [
  ["queued", "complete", "completed", CHARGED],
  ["queued", "fail", "queued", HELD],
  ["queued", "cancel", "cancelled", NOTHING],
  ["queued", "expire", "failed", NOTHING],
  ["queued", "lose", "queued", HELD],
  ["taken", "complete", "completed", CHARGED],
  ["taken", "fail", "failed", NOTHING],
  ["taken", "cancel", "cancelled", NOTHING],
  ["taken", "expire", "failed", NOTHING],
  ["taken", "lose", "queued", HELD],
  ["sent", "complete", "completed", CHARGED],
  ["sent", "fail", "failed", NOTHING],
  ["sent", "cancel", "in_progress", HELD],
  ["sent", "expire", "in_progress", HELD],
  ["sent", "lose", "failed", LOST],
];

const STEPS: readonly TaskEnding[] = ["complete", "fail", "cancel", "expire", "lose"];
const ENDED = CASES.filter(([, , status]) => status !== "queued" && status !== "in_progress");

/** What a step after the end does to the money: a record counts if none came before, a late release frees a lost hold. */
function balanceAfter(before: Balance, step: TaskEnding): Balance {
  if (step === "complete" && before !== CHARGED) return CHARGED;
  return step === "fail" && before === LOST ? NOTHING : before;
}

/** A task has exactly one final state, and its hold ends with it. */
export function describeTaskEnds(open: OpenTaskLedger): void {
  describe("a task that ends", () => {
    const bench = useTaskLedger(open);

    async function bring(stage: Stage): Promise<void> {
      const { ledger, tasks } = bench();
      await submitAll(ledger, ["1"]);
      if (stage !== "queued") await take(ledger, 1);
      if (stage === "sent") await tasks.markSent("task_1");
    }

    async function happen(step: TaskEnding): Promise<void> {
      const { ledger, tasks, clock } = bench();
      if (step === "complete") await tasks.end(completionOf("1"));
      if (step === "fail") await tasks.end({ id: "task_1", status: "failed", error: "{}" });
      if (step === "cancel") await tasks.cancel("me", "task_1");
      if (step === "expire") clock.advance(TTL_MS);
      if (step === "expire") await sweepTasks(ledger);
      if (step === "lose") await sweepTasks(ledger, { own: true });
    }

    it.each(CASES)("while it is %s: %s makes it %s", async (stage, step, status, balance) => {
      const { ledger, tasks } = bench();
      await bring(stage);
      await happen(step);

      expect(await tasks.find("me", "task_1")).toMatchObject({ status });
      expect(await ledger.balance("me")).toEqual(balance);
    });

    it.each(ENDED.flatMap((ended) => STEPS.map((step) => [...ended, step] as const)))(
      "while it is %s, by %s, stays %s, if the next step is %s",
      async (stage, step, _status, balance, later) => {
        const { ledger, tasks } = bench();
        await bring(stage);
        await happen(step);
        const before = await tasks.find("me", "task_1");
        await happen(later);

        expect(await tasks.find("me", "task_1")).toEqual(before);
        expect(await ledger.balance("me")).toEqual(balanceAfter(balance, later));
        expect(await take(ledger)).toEqual([]);
      },
    );

    it("has its result and the time of its end, and no images any more", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "1");
      await tasks.addImages("task_1", ["one"]);
      clock.advance(1_234);
      await tasks.end(completionOf("1", { result: "the result" }));

      const ended = taskOf("1", { status: "completed", endedAt: START + 1_234, result: "the result" });
      expect(await tasks.find("me", "task_1")).toEqual(ended);
      expect(await readRecords(ledger)).toStrictEqual([taskRecordOf("1")]);
    });

    it("has the error that the worker or the sweep gave", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "failed");
      await tasks.end({ id: "task_failed", status: "failed", error: "no", record: taskRecordOf("failed") });
      await start(ledger, "lost");
      await submit(ledger, "expired");
      clock.advance(TTL_MS);
      await sweepTasks(ledger, { own: true });

      const errorOf = async (name: string): Promise<unknown> =>
        (await tasks.find("me", `task_${name}`))?.error;
      expect(await errorOf("failed")).toBe("no");
      expect(await errorOf("lost")).toBe(LOST_ERROR);
      expect(await errorOf("expired")).toBe(EXPIRED_ERROR);
    });

    it("returns its input to the call that cancelled it, once, and the task as it is now", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      const cancelled = taskOf("1", { status: "cancelled", endedAt: START });

      expect(await tasks.cancel("me", "task_1")).toEqual({ task: cancelled, input: inputOf("1") });
      expect(await tasks.cancel("me", "task_1")).toEqual({ task: cancelled });
      await start(ledger, "2");
      expect(await tasks.cancel("me", "task_2")).toEqual({ task: taskOf("2", { status: "in_progress" }) });
    });

    it("is not cancelled by another caller, nor if it is unknown", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");

      expect(await tasks.cancel("other", "task_1")).toBeUndefined();
      expect(await tasks.cancel("me", "task_2")).toBeUndefined();
      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1"));
    });

    it("ends once if it is ended and cancelled many times in parallel", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1", { webhooks: ["shop"] });
      await take(ledger);
      await Promise.all(
        Array.from({ length: 20 }, async (_, at) =>
          at % 2 === 0
            ? await tasks.cancel("me", "task_1")
            : await tasks.end({ id: "task_1", status: "failed", error: "no" }),
        ),
      );

      expect(await ledger.balance("me")).toEqual(NOTHING);
      expect(await bench().outbox.list({}, 9)).toHaveLength(1);
    });

    it("after a sweep changes only the money: its record replaces the unresolved one and is delivered again", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      const { lost } = await sweepTasks(ledger, { own: true });
      expect(lost).toEqual([lostRecordOf("1", { charge: "0.5" })]);
      await ledger.markDelivered(await ledger.takeUndelivered(9, 1_000));
      const failed = await tasks.find("me", "task_1");
      await tasks.end(completionOf("1"));

      expect(await tasks.find("me", "task_1")).toEqual(failed);
      expect(await readRecords(ledger)).toStrictEqual([{ ...taskRecordOf("1"), late: true }]);
      expect(idsOf(await peekUndelivered(ledger))).toEqual(["req_1"]);
    });

    it("and is deleted still counts a late record, and its record stays when it is deleted", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "1");
      await sweepTasks(ledger, { own: true });
      clock.advance(KEEP_MS);
      await sweepTasks(ledger);
      expect(await tasks.find("me", "task_1")).toBeUndefined();
      await tasks.end(completionOf("1"));

      expect(await tasks.find("me", "task_1")).toBeUndefined();
      expect(await readRecords(ledger)).toStrictEqual([{ ...taskRecordOf("1"), late: true }]);
      expect(await ledger.balance("me")).toEqual(CHARGED);
    });

    it("is left alone by the end of an unknown task, whose record counts", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1");
      await tasks.end({ id: "task_2", status: "failed" });
      await tasks.end(completionOf("3", { record: taskRecordOf("3", { charge: "0.7" }) }));

      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1"));
      expect(await ledger.balance("me")).toEqual({ settled: "0.7", held: "0.5" });
    });

    it.each([
      ["result", { result: "x".repeat(1024 * 1024 + 1) }],
      ["error", { error: "a\0b" }],
      ["charge", { record: taskRecordOf("1", { charge: "-1" }) }],
    ])("with a bad %s is refused, and changes nothing", async (field, rest) => {
      const { ledger, tasks } = bench();
      await start(ledger, "1");
      await expect(tasks.end(completionOf("1", rest))).rejects.toThrow(RangeError);
      await expect(tasks.end(completionOf("1", rest))).rejects.toThrow(field);

      expect(await tasks.find("me", "task_1")).toMatchObject({ status: "in_progress" });
      expect(await ledger.balance("me")).toEqual(HELD);
    });

    it("may have a result of 1 MiB", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "1", { input: "x".repeat(1024 * 1024) });
      const result = "y".repeat(1024 * 1024);
      await tasks.end(completionOf("1", { result }));

      expect((await tasks.find("me", "task_1"))?.result === result).toBe(true);
    });
  });
}
