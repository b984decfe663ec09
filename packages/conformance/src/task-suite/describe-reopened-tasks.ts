import { describe, expect, it } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  EXPIRED_ERROR,
  inputOf,
  LOST_ERROR,
  lostRecordOf,
  namesOf,
  start,
  submit,
  submitAll,
  sweepTasks,
  TTL_MS,
  take,
  taskOf,
  taskRecordOf,
} from "./tasks.js";

/** Tasks survive their process. What that process had taken is nobody's any more. */
export function describeReopenedTasks(open: OpenTaskLedger): void {
  describe("the tasks of a ledger that is closed and opened again", () => {
    const bench = useTaskLedger(open);

    it("are still there, with their holds, their order and their idempotency keys", async () => {
      const { ledger, reopen } = bench();
      const repeat = { key: "key", fingerprint: "content" };
      await submit(ledger, "1", { repeat });
      await submit(ledger, "2");
      const anew = await reopen();

      expect(await anew.tasks.list("me", { limit: 9 })).toEqual([taskOf("2"), taskOf("1")]);
      expect(await anew.balance("me")).toEqual({ settled: "0", held: "1" });
      expect(await submit(anew, "3", { repeat })).toEqual({ kind: "repeated", task: taskOf("1") });
      expect(await take(anew)).toMatchObject([
        { id: "task_1", input: inputOf("1") },
        { id: "task_2", input: inputOf("2") },
      ]);
    });

    it("go back to the queue after a sweep, if they were taken and not sent", async () => {
      const { ledger, reopen } = bench();
      await submitAll(ledger, ["1", "2", "3"]);
      await take(ledger, 2);
      const anew = await reopen();
      expect(await anew.tasks.markSent("task_1")).toBe(false);
      expect(await sweepTasks(anew)).toEqual({ lost: [], inputs: [] });

      expect(namesOf(await take(anew))).toEqual(["1", "2", "3"]);
      expect(await anew.tasks.markSent("task_1")).toBe(true);
    });

    it("fail in a sweep, once, if they were sent, and their money follows onLost", async () => {
      const { ledger, reopen } = bench();
      await start(ledger, "1", { webhooks: ["shop"] });
      const anew = await reopen();
      const swept = { lost: [lostRecordOf("1", { charge: "0.5" })], inputs: [inputOf("1")] };
      expect(await sweepTasks(anew)).toEqual(swept);
      expect(await sweepTasks(anew)).toEqual({ lost: [], inputs: [] });

      expect(await anew.tasks.find("me", "task_1")).toMatchObject({ status: "failed", error: LOST_ERROR });
      expect(await readRecords(anew)).toEqual(swept.lost);
      expect(await anew.balance("me")).toEqual({ settled: "0.5", held: "0" });
      expect(await anew.outbox.list({}, 9)).toHaveLength(1);
    });

    it("are not ended by the sweep of the ledger", async () => {
      const { ledger, reopen } = bench();
      await start(ledger, "sent");
      await submitAll(ledger, ["taken", "queued"]);
      await take(ledger, 1);
      const anew = await reopen();

      expect(await anew.sweep({ onLost: "charge" })).toEqual([]);
      expect(await anew.balance("me")).toEqual({ settled: "0", held: "1.5" });
      expect(await anew.tasks.find("me", "task_sent")).toMatchObject({ status: "in_progress" });
    });

    it("fail instead of going back, if their time is over too", async () => {
      const { ledger, clock, reopen } = bench();
      await submitAll(ledger, ["taken", "queued"]);
      await take(ledger, 1);
      const anew = await reopen();
      clock.advance(TTL_MS);
      const { lost, inputs } = await sweepTasks(anew);

      expect(lost).toEqual([]);
      expect(inputs.toSorted()).toEqual([inputOf("queued"), inputOf("taken")]);
      expect(await anew.tasks.find("me", "task_taken")).toMatchObject({
        status: "failed",
        error: EXPIRED_ERROR,
      });
      expect(await anew.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("keep their ends, results and messages, also leased and disabled ones", async () => {
      const { ledger, tasks, clock, reopen } = bench();
      await start(ledger, "1", { webhooks: ["shop", "off"] });
      await tasks.end(completionOf("1", { result: "the result" }));
      await bench().outbox.setDisabled("me", "off", true);
      const [leased] = await bench().outbox.lease("message", { limit: 9, leaseMs: 1_000, except: [] });
      const before = await tasks.find("me", "task_1");
      const anew = await reopen();

      expect(await anew.tasks.find("me", "task_1")).toEqual(before);
      expect(await readRecords(anew)).toEqual([taskRecordOf("1")]);
      expect(await anew.outbox.listDisabled()).toEqual([{ caller: "me", endpoint: "off" }]);
      const options = { limit: 9, leaseMs: 1_000, except: [] };
      expect(await anew.outbox.lease("message", options)).toEqual([]);
      clock.advance(1_000);
      expect(await anew.outbox.lease("message", options)).toMatchObject([
        { message: { id: leased?.message.id }, task: before },
      ]);
    });
  });
}
