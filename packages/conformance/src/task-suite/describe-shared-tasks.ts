import type { TaskLedger } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import type { Closable } from "../ledger-suite/open-ledger.js";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { type OpenTaskLedger, type TestedTaskLedger, useTaskLedger } from "./open-tasks.js";
import {
  completionOf,
  LOST_ERROR,
  lostRecordOf,
  namesOf,
  start,
  submit,
  submitAll,
  sweepTasks,
  take,
  taskOf,
  taskRecordOf,
} from "./tasks.js";

const NAMES = Array.from({ length: 30 }, (_, at) => String(at).padStart(2, "0"));

/** Several processes work on the same tasks. */
export function describeSharedTasks(open: OpenTaskLedger): void {
  describe("tasks that processes share", () => {
    const bench = useTaskLedger(open);

    async function openTwo(): Promise<readonly [TestedTaskLedger, Closable<TestedTaskLedger>]> {
      const { ledger, join } = bench();
      return [ledger, await join()];
    }

    it("are seen by each of them", async () => {
      const [one, other] = await openTwo();
      await submit(one, "1");
      await submit(other, "2");

      expect(await one.tasks.list("me", { limit: 9 })).toEqual([taskOf("2"), taskOf("1")]);
      expect(await other.tasks.find("me", "task_1")).toEqual(taskOf("1"));
      expect(await other.balance("me")).toEqual({ settled: "0", held: "1" });
    });

    it("are taken by one of them", async () => {
      const both = await openTwo();
      await submitAll(both[0], NAMES);
      const takers = Array.from({ length: 10 }, () => both).flat();
      const taken = await Promise.all(takers.map((ledger) => take(ledger, 2)));

      expect(namesOf(taken.flat()).toSorted()).toEqual(NAMES);
    });

    it("are made once for an idempotency key, also if both submit at the same time", async () => {
      const both = await openTwo();
      for (const name of NAMES.slice(0, 10)) {
        const repeat = { key: `key ${name}`, fingerprint: "content" };
        const submitted = await Promise.all(
          both.map((ledger, at) => submit(ledger, `${name}-${at}`, { repeat })),
        );
        expect(submitted.map(({ kind }) => kind).toSorted()).toEqual(["repeated", "submitted"]);
      }
      expect(await both[0].balance("me")).toEqual({ settled: "0", held: "5" });
    });

    it("never overdraw a budget, if both submit at the same time", async () => {
      const both = await openTwo();
      const submitted = await Promise.all(
        NAMES.flatMap((name) =>
          both.map((ledger, at) => submit(ledger, `${name}-${at}`, { amount: "0.07", budget: "1" })),
        ),
      );

      expect(submitted.filter(({ kind }) => kind === "submitted")).toHaveLength(14);
    });

    it("must not be sent by a process that a sweep took them from", async () => {
      const [one, other] = await openTwo();
      await handOver(one, other);

      expect(await one.tasks.markSent("task_1")).toBe(false);
      expect(await other.tasks.markSent("task_1")).toBe(true);
    });

    it("are left alone by a process that a sweep took them from", async () => {
      const [one, other] = await openTwo();
      await handOver(one, other);
      await one.tasks.putBack(["task_1"]);
      await one.tasks.end({ id: "task_1", status: "failed", error: "no" });
      expect(await take(one)).toEqual([]);
      await other.tasks.markSent("task_1");
      await one.tasks.addImages("task_1", ["one"]);
      await one.tasks.end({ id: "task_1", status: "failed", error: "no" });

      expect(await one.tasks.find("me", "task_1")).toEqual(taskOf("1", { status: "in_progress" }));
      await other.tasks.end(completionOf("1"));
      expect(await one.balance("me")).toEqual({ settled: "0.3", held: "0" });
    });

    it("that one of them sent after all end with its record, and the other must not send them", async () => {
      const [one, other] = await openTwo();
      await handOver(one, other);
      await one.tasks.end(completionOf("1"));

      expect(await other.tasks.markSent("task_1")).toBe(false);
      await other.tasks.end(completionOf("1", { record: taskRecordOf("1", { charge: "9" }) }));
      expect(await one.tasks.find("me", "task_1")).toMatchObject({ status: "completed" });
      expect(await readRecords(one)).toEqual([taskRecordOf("1")]);
    });

    it("can be cancelled by a process that did not take them", async () => {
      const [one, other] = await openTwo();
      await submit(one, "1");
      await take(one);
      expect(await other.tasks.cancel("me", "task_1")).toMatchObject({ task: { status: "cancelled" } });

      expect(await one.tasks.markSent("task_1")).toBe(false);
    });

    it("stay with a process that lives, whatever the other sweeps", async () => {
      const [one, other] = await openTwo();
      await start(one, "sent");
      await submit(one, "taken");
      await take(one);

      expect(await sweepTasks(other)).toEqual({ lost: [], inputs: [] });
      expect(await sweepTasks(other, { own: true })).toEqual({ lost: [], inputs: [] });
      expect(await take(other)).toEqual([]);
      expect(await one.tasks.markSent("task_taken")).toBe(true);
      await one.tasks.end(completionOf("sent"));
      expect(await one.balance("me")).toEqual({ settled: "0.3", held: "0.5" });
    });

    it("go back or fail when the process that took them has died, in one sweep of many", async () => {
      const [one, other] = await openTwo();
      await start(other, "sent", { webhooks: ["shop"] });
      await submitAll(other, ["taken", "queued"]);
      await take(other, 1);
      await other.close();
      const swept = await Promise.all([sweepTasks(one), sweepTasks(one), sweepTasks(one)]);

      expect(swept.flatMap(({ lost }) => lost)).toEqual([lostRecordOf("sent", { charge: "0.5" })]);
      expect(await one.tasks.find("me", "task_sent")).toMatchObject({ status: "failed", error: LOST_ERROR });
      expect(namesOf(await take(one))).toEqual(["taken", "queued"]);
      expect(await one.outbox.list({}, 9)).toHaveLength(1);
    });

    it("that end by a sweep of one and by the other at the same time end once, and the record counts", async () => {
      const [one, other] = await openTwo();
      for (const name of NAMES.slice(0, 10)) {
        await start(one, name);
        await Promise.all([sweepTasks(one, { own: true }), other.tasks.end(completionOf(name))]);
      }

      expect(await one.balance("me")).toEqual({ settled: "3", held: "0" });
      expect(await readRecords(one)).toHaveLength(10);
    });

    it("have messages that are taken by one of them, and sent to no endpoint that the other disabled", async () => {
      const both = await openTwo();
      for (const name of NAMES) {
        await submit(both[0], name, { webhooks: ["shop", "off"] });
        await both[0].tasks.cancel("me", `task_${name}`);
      }
      await both[1].outbox.setDisabled("me", "off", true);
      const takers = Array.from({ length: 10 }, () => both).flat();
      const taken = await Promise.all(
        takers.map(({ outbox }) => outbox.lease("message", { limit: 3, leaseMs: 60_000, except: [] })),
      );

      expect(taken.flat().map(({ message }) => message.endpoint)).toEqual(NAMES.map(() => "shop"));
      expect(new Set(taken.flat().map(({ task }) => task?.id)).size).toBe(NAMES.length);
    });
  });
}

/** Makes the first process give up a task that it took, as a sweep does after its death, and the other take it. */
async function handOver(from: TaskLedger, to: TaskLedger): Promise<void> {
  await submit(from, "1");
  await take(from);
  await sweepTasks(from, { own: true });
  expect(namesOf(await take(to))).toEqual(["1"]);
}
