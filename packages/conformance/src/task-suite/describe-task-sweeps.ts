import { describe, expect, it } from "vitest";
import { START, timeAfterStart } from "../ledger-suite/clock.js";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  EXPIRED_ERROR,
  inputOf,
  KEEP_MS,
  LOST_ERROR,
  namesOf,
  start,
  submit,
  submitAll,
  sweepTasks,
  TTL_MS,
  take,
  taskOf,
} from "./tasks.js";

const NOTHING = { lost: [], inputs: [] };

const callerOf = (name: string): string => (Number(name) < 500 ? "me" : "other");

/** A sweep ends what waited too long and what nobody can end any more, and deletes what ended long ago. */
export function describeTaskSweeps(open: OpenTaskLedger): void {
  describe("a sweep of tasks", () => {
    const bench = useTaskLedger(open);

    it("ends a task that waited too long, at its time and not before", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1");
      clock.advance(TTL_MS - 1);
      expect(await sweepTasks(ledger)).toEqual(NOTHING);
      clock.advance(1);

      expect(await sweepTasks(ledger)).toEqual({ lost: [], inputs: [inputOf("1")] });
      const ended = { status: "failed", endedAt: START + TTL_MS, error: EXPIRED_ERROR } as const;
      expect(await tasks.find("me", "task_1")).toEqual(taskOf("1", ended));
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(await sweepTasks(ledger)).toEqual(NOTHING);
    });

    it("also ends tasks whose time was over from the beginning", async () => {
      const { ledger } = bench();
      await submit(ledger, "1", { ttlMs: 0 });

      expect(await take(ledger)).toEqual([]);
      expect((await sweepTasks(ledger)).inputs).toEqual([inputOf("1")]);
    });

    it("ends a task that was taken and not sent in time, which must not be sent any more", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1");
      await take(ledger);
      clock.advance(TTL_MS);
      await sweepTasks(ledger);

      expect(await tasks.markSent("task_1")).toBe(false);
      expect(await tasks.find("me", "task_1")).toMatchObject({ status: "failed", error: EXPIRED_ERROR });
    });

    it("leaves tasks alone that were sent, however old they are", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "1");
      clock.advance(TTL_MS + KEEP_MS);

      expect(await sweepTasks(ledger)).toEqual(NOTHING);
      await tasks.end(completionOf("1"));
      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("with `own` puts tasks back that were not sent, and ends those that were", async () => {
      const { ledger, tasks } = bench();
      await start(ledger, "sent");
      await submitAll(ledger, ["taken", "queued"]);
      await take(ledger, 1);
      const { lost, inputs } = await sweepTasks(ledger, { own: true });

      expect(lost).toMatchObject([{ id: "req_sent", state: "unresolved" }]);
      expect(inputs).toEqual([inputOf("sent")]);
      expect(await tasks.find("me", "task_sent")).toMatchObject({ status: "failed", error: LOST_ERROR });
      expect(namesOf(await take(ledger))).toEqual(["taken", "queued"]);
    });

    it("returns the records of lost tasks by time, then by id", async () => {
      const { ledger } = bench();
      for (const [at, name] of ["c", "b", "a", "d"].entries()) {
        await start(ledger, name, { time: timeAfterStart(at < 2 ? 1_000 : 0) });
      }
      const { lost } = await sweepTasks(ledger, { own: true });

      expect(lost.map(({ id }) => id)).toEqual(["req_a", "req_d", "req_b", "req_c"]);
    });

    it("deletes an ended task when it was kept long enough, and not before", async () => {
      const { ledger, tasks, clock } = bench();
      await submitAll(ledger, ["1", "2"]);
      await submit(ledger, "short", { keepMs: 0 });
      await tasks.cancel("me", "task_1");
      await tasks.cancel("me", "task_short");
      clock.advance(KEEP_MS - 1);
      await sweepTasks(ledger);
      expect(namesOf(await tasks.list("me", { limit: 9 }))).toEqual(["2", "1"]);
      clock.advance(1);
      await sweepTasks(ledger);

      expect(namesOf(await tasks.list("me", { limit: 9 }))).toEqual(["2"]);
      expect(await tasks.find("me", "task_1")).toBeUndefined();
    });

    it("ends and deletes many tasks at once", async () => {
      const { ledger, tasks, clock } = bench();
      const names = Array.from({ length: 750 }, (_, at) => String(at));
      await Promise.all(names.map((name) => submit(ledger, name, { caller: callerOf(name) })));
      clock.advance(TTL_MS);
      const { inputs } = await sweepTasks(ledger);
      expect(inputs.toSorted()).toEqual(names.map(inputOf).toSorted());
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
      clock.advance(KEEP_MS);
      await sweepTasks(ledger);

      expect(await tasks.list("me", { limit: 9 })).toEqual([]);
    });

    it("keeps a task while a message about it waits, and deletes it with its messages", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1", { webhooks: ["shop", "other"] });
      await tasks.cancel("me", "task_1");
      const [one, other] = await bench().outbox.list({}, 9);
      await bench().outbox.finish(one?.id ?? "", { kind: "delivered" });
      clock.advance(KEEP_MS);
      await sweepTasks(ledger);
      expect(await tasks.find("me", "task_1")).toBeDefined();
      await bench().outbox.finish(other?.id ?? "", { kind: "given_up", error: "no" });
      await sweepTasks(ledger);

      expect(await tasks.find("me", "task_1")).toBeUndefined();
      expect(await bench().outbox.list({}, 9)).toEqual([]);
    });

    it("does not keep a task for a message to a disabled endpoint", async () => {
      const { ledger, tasks, clock } = bench();
      await submit(ledger, "1", { webhooks: ["shop"] });
      await tasks.cancel("me", "task_1");
      await bench().outbox.setDisabled("me", "shop", true);
      clock.advance(KEEP_MS - 1);
      await sweepTasks(ledger);
      expect(await tasks.find("me", "task_1")).toBeDefined();
      clock.advance(1);
      await sweepTasks(ledger);

      expect(await tasks.find("me", "task_1")).toBeUndefined();
      expect(await bench().outbox.list({}, 9)).toEqual([]);
    });
  });
}
