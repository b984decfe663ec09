import type { NewTask } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { HOLD_MS, holdOf } from "../ledger-suite/entries.js";
import { idsOf, readRecords } from "../ledger-suite/read-ledger.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  KEEP_MS,
  lostRecordOf,
  namesOf,
  start,
  submissionOf,
  submit,
  submitAll,
  sweepTasks,
  type TaskFields,
  take,
  taskOf,
} from "./tasks.js";

const NAMES = Array.from({ length: 20 }, (_, at) => String(at));

/** A task and its hold are stored together, and end together. */
export function describeTaskMoney(open: OpenTaskLedger): void {
  describe("the hold of a task", () => {
    const bench = useTaskLedger(open);

    it("is made with the task", async () => {
      const { ledger } = bench();

      expect(await submit(ledger, "1")).toEqual({ kind: "submitted", task: taskOf("1") });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });

    it("that the budget does not cover leaves no task behind", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1", { budget: "1" });
      const refused = { kind: "refused", balance: { settled: "0", held: "0.5" } };

      expect(await submit(ledger, "2", { budget: "1", amount: "0.500000000000000001" })).toEqual(refused);
      expect(await tasks.find("me", "task_2")).toBeUndefined();
      expect(namesOf(await take(ledger))).toEqual(["1"]);
      expect(await submit(ledger, "2", { budget: "1" })).toMatchObject({ kind: "submitted" });
    });

    it("counts for the budget of ordinary requests, and they for its budget", async () => {
      const { ledger } = bench();
      await submit(ledger, "1", { budget: "1" });

      expect(await ledger.hold(holdOf({ id: "req_2", budget: "1", amount: "0.6" }))).toMatchObject({
        ok: false,
      });
      await ledger.hold(holdOf({ id: "req_2", budget: "1", amount: "0.4" }));
      expect(await submit(ledger, "3", { budget: "1", amount: "0.2" })).toMatchObject({ kind: "refused" });
    });

    it("frees the budget when the task ends", async () => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1", { budget: "0.5" });
      await tasks.cancel("me", "task_1");

      expect(await submit(ledger, "2", { budget: "0.5" })).toMatchObject({ kind: "submitted" });
    });

    it("may have no amount", async () => {
      const { ledger } = bench();
      await start(ledger, "1", { amount: null, budget: "0" });
      await sweepTasks(ledger, { own: true });

      expect(await readRecords(ledger)).toStrictEqual([lostRecordOf("1", { charge: null, held: null })]);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("never overdraws a budget, however many tasks are submitted in parallel", async () => {
      const { ledger } = bench();
      const submitted = await Promise.all(
        Array.from({ length: 100 }, (_, at) => submit(ledger, String(at), { amount: "0.07", budget: "1" })),
      );

      expect(submitted.filter(({ kind }) => kind === "submitted")).toHaveLength(14);
      expect(await take(ledger)).toHaveLength(14);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.98" });
    });

    it("is left alone by the sweep of the ledger, however old it is, also if that ends its own holds", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "sent");
      await submitAll(ledger, ["taken", "queued"]);
      await take(ledger, 1);
      await ledger.hold(holdOf({ id: "req_other" }));
      clock.advance(Math.max(HOLD_MS, KEEP_MS));

      expect(idsOf(await ledger.sweep({ onLost: "charge" }))).toEqual(["req_other"]);
      expect(await ledger.sweep({ onLost: "charge", own: true })).toEqual([]);
      expect(await ledger.balance("me")).toEqual({ settled: "0.5", held: "1.5" });
      expect(await tasks.find("me", "task_sent")).toMatchObject({ status: "in_progress" });
    });

    it("is left alone by the sweep of tasks if it belongs to no task", async () => {
      const { ledger, clock } = bench();
      await ledger.hold(holdOf({ id: "req_1" }));
      clock.advance(HOLD_MS);

      expect(await sweepTasks(ledger, { own: true })).toEqual({ lost: [], inputs: [] });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });

    it.each([
      ["release", "0"],
      ["charge", "0.5"],
    ] as const)("of a lost task follows onLost: %s charges %s", async (onLost, charge) => {
      const { ledger } = bench();
      await start(ledger, "1");
      const { lost } = await sweepTasks(ledger, { onLost, own: true });

      expect(lost).toStrictEqual([lostRecordOf("1", { charge })]);
      expect(await readRecords(ledger)).toStrictEqual(lost);
      expect(await ledger.takeUndelivered(9, 1_000)).toStrictEqual(lost);
      expect(await ledger.balance("me")).toEqual({ settled: charge, held: "0" });
    });

    it("ends once for each of many tasks that end in parallel", async () => {
      const { ledger, tasks } = bench();
      await submitAll(ledger, NAMES, { amount: "0.3" });
      await take(ledger);
      await Promise.all(NAMES.map((name) => tasks.markSent(`task_${name}`)));
      await Promise.all([...NAMES, ...NAMES].map((name) => tasks.end(completionOf(name))));

      expect(await ledger.balance("me")).toEqual({ settled: "6", held: "0" });
      expect(await readRecords(ledger)).toHaveLength(20);
    });

    it.each<[string, TaskFields | { readonly operation: NewTask["operation"] }]>([
      ["an id of 513 bytes", { id: "x".repeat(513) }],
      ["a caller with NUL", { caller: "a\0b" }],
      ["half a surrogate pair in its model", { model: "\ud800" }],
      ["an idempotency key of 513 bytes", { repeat: { key: "x".repeat(513), fingerprint: "f" } }],
      ["an input of more than 1 MiB", { input: "x".repeat(1024 * 1024 + 1) }],
      ["an input with NUL", { input: "a\0b" }],
      ["half a surrogate pair in its input", { input: "\udc00" }],
      ["17 webhooks", { webhooks: Array.from({ length: 17 }, (_, at) => String(at)) }],
      ["a webhook of 513 bytes", { webhooks: ["x".repeat(513)] }],
      ["an end before its beginning", { ttlMs: -1 }],
      ["no end", { ttlMs: Number.POSITIVE_INFINITY }],
      ["no time to be kept", { keepMs: Number.NaN }],
      ["an amount below 0", { amount: "-1" }],
      ["a group of 513 bytes", { group: "x".repeat(513) }],
      ["a time without a zone", { time: "2026-01-31T12:00:00" }],
    ])("is not made for a task with %s, nor is the task", async (_what, fields) => {
      const { ledger } = bench();
      await expect(submit(ledger, "1", fields)).rejects.toThrow(RangeError);

      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(await take(ledger)).toEqual([]);
    });

    it.each([{ id: "req_other" }, { task: "task_other" }, { task: undefined }, { caller: "other" }])(
      "must name its task: %j is refused",
      async (rest) => {
        const { ledger, tasks } = bench();
        const [task, hold] = submissionOf("1");
        await expect(tasks.submit(task, { ...hold, ...rest })).rejects.toThrow(RangeError);

        expect(await take(ledger)).toEqual([]);
      },
    );
  });
}
