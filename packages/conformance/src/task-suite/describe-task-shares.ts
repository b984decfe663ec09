import type { TaskLedger, TaskSubmission } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { type OpenTaskLedger, useTaskLedger } from "./open-tasks.js";
import { completionOf, start, submit, submitAll, sweepTasks, TTL_MS, take } from "./tasks.js";

/** Room for ten tasks, however long. */
const TEN = { tasks: 10, bytes: 1_000_000 };
const numbers = (length: number, prefix = ""): string[] =>
  Array.from({ length }, (_, at) => `${prefix}${at}`);

/** Submits tasks of a caller until one is refused. Returns how many were stored, and the refusal. */
async function submitMost(
  ledger: Pick<TaskLedger, "tasks">,
  caller: string,
  fields: { readonly room: { readonly tasks: number; readonly bytes: number }; readonly input?: string },
): Promise<{ readonly stored: number; readonly refusal: TaskSubmission }> {
  for (let stored = 0; ; stored++) {
    const result = await submit(ledger, `${caller}-${stored}-${crypto.randomUUID()}`, { caller, ...fields });
    if (result.kind !== "submitted") return { stored, refusal: result };
  }
}

const SHARE_USED = { kind: "full", isShareUsed: true };

/** A caller with very many tasks, or very long ones, crowds out only itself. */
export function describeTaskShares(open: OpenTaskLedger): void {
  describe("the room for tasks", () => {
    const bench = useTaskLedger(open);

    it("has for each caller at most half of what the others leave", async () => {
      const { ledger } = bench();
      expect(await submitMost(ledger, "a", { room: TEN })).toEqual({ stored: 5, refusal: SHARE_USED });
      expect(await submitMost(ledger, "b", { room: TEN })).toEqual({ stored: 2, refusal: SHARE_USED });
      expect(await submitMost(ledger, "c", { room: TEN })).toEqual({ stored: 1, refusal: SHARE_USED });
      expect(await submitMost(ledger, "a", { room: TEN })).toEqual({ stored: 0, refusal: SHARE_USED });
      expect(await ledger.balance("a")).toEqual({ settled: "0", held: "2.5" });
    });

    it("counts the bytes of the inputs in UTF-8", async () => {
      const { ledger } = bench();
      const room = { tasks: 1_000, bytes: 1_000 };
      const input = "€".repeat(30);
      expect(await submitMost(ledger, "a", { room, input })).toEqual({ stored: 5, refusal: SHARE_USED });
      expect(await submit(ledger, "short", { caller: "a", room, input: "x".repeat(50) })).toMatchObject({
        kind: "submitted",
      });
      expect(await submit(ledger, "other", { caller: "b", room, input: "x".repeat(500) })).toMatchObject({
        kind: "submitted",
      });
      expect(await submit(ledger, "none", { caller: "c", room, input })).toEqual({
        kind: "full",
        isShareUsed: false,
      });
    });

    it("allows a caller without tasks one that takes all that is left", async () => {
      const { ledger } = bench();
      const room = { tasks: 10, bytes: 100 };
      expect(await submit(ledger, "1", { room, input: "x".repeat(101) })).toEqual({
        kind: "full",
        isShareUsed: false,
      });
      expect(await submit(ledger, "2", { room, input: "x".repeat(100) })).toMatchObject({
        kind: "submitted",
      });
    });

    it("is given back by each end, once", async () => {
      const { ledger, tasks, clock } = bench();
      const room = { tasks: 2, bytes: 1_000 };
      const expectOneFree = async (name: string): Promise<void> => {
        expect(await submit(ledger, `more-${name}`, { room })).toEqual(SHARE_USED);
        expect(await submit(ledger, `others-${name}`, { caller: "other", room })).toMatchObject({
          kind: "submitted",
        });
        await tasks.cancel("other", `task_others-${name}`);
      };
      await start(ledger, "completed", { room });
      await expectOneFree("completed");
      await tasks.end(completionOf("completed"));
      await tasks.end(completionOf("completed"));

      await submitAll(ledger, ["cancelled"], { room });
      await expectOneFree("cancelled");
      await tasks.cancel("me", "task_cancelled");
      await tasks.cancel("me", "task_cancelled");

      await submitAll(ledger, ["expired"], { room });
      await expectOneFree("expired");
      clock.advance(TTL_MS);
      await sweepTasks(ledger);
      await sweepTasks(ledger);

      await start(ledger, "lost", { room });
      await expectOneFree("lost");
      await sweepTasks(ledger, { own: true });

      await submitAll(ledger, ["back"], { room });
      await take(ledger, 1);
      await tasks.putBack(["task_back"]);
      await expectOneFree("back");
      await take(ledger, 1);
      await tasks.end({ id: "task_back", status: "failed", error: "{}" });
      await submitAll(ledger, ["last"], { room });
    });

    it("is given back in bytes while other tasks of the caller go on", async () => {
      const { ledger, tasks } = bench();
      const room = { tasks: 100, bytes: 1_000 };
      await submitAll(ledger, ["stays"], { room });
      for (const name of ["1", "2", "3"]) {
        await submitAll(ledger, [name], { room, input: "x".repeat(400) });
        expect(await submit(ledger, `more-${name}`, { room, input: "x".repeat(400) })).toEqual(SHARE_USED);
        await tasks.cancel("me", `task_${name}`);
      }
    });

    it("is not taken by a repeated submission, a conflict, or a task that the budget refuses", async () => {
      const { ledger } = bench();
      const room = { tasks: 4, bytes: 1_000 };
      const repeat = { key: "k", fingerprint: "1" };
      expect(await submit(ledger, "1", { room, repeat })).toMatchObject({ kind: "submitted" });
      expect(await submit(ledger, "2", { room, repeat })).toMatchObject({ kind: "repeated" });
      expect(await submit(ledger, "3", { room, repeat: { ...repeat, fingerprint: "2" } })).toEqual({
        kind: "conflict",
      });
      expect(await submit(ledger, "4", { room, budget: "0.6" })).toMatchObject({ kind: "refused" });
      expect(await submit(ledger, "5", { room })).toMatchObject({ kind: "submitted" });
      expect(await submit(ledger, "6", { room })).toEqual(SHARE_USED);
      // What is stored already is found, also by a caller whose share is used up.
      expect(await submit(ledger, "7", { room, repeat })).toMatchObject({ kind: "repeated" });
    });

    it("is not exceeded by tasks that are submitted at the same time", async () => {
      const { ledger } = bench();
      const results = await Promise.all(
        ["a", "b", "c"].flatMap((caller) =>
          numbers(20, caller).map((name) => submit(ledger, name, { caller, room: TEN })),
        ),
      );
      const kinds = results.map(({ kind }) => kind);
      for (const caller of [0, 1, 2]) {
        const stored = kinds.slice(20 * caller, 20 * caller + 20).filter((kind) => kind === "submitted");
        expect(stored.length).toBeGreaterThanOrEqual(1);
        expect(stored.length).toBeLessThanOrEqual(5);
      }
      expect(kinds.filter((kind) => kind === "submitted").length).toBeLessThan(10);
    });

    it("ends for a thousand tasks of one caller, and another caller's task is still stored and taken next", async () => {
      const { ledger } = bench();
      const room = { tasks: 100, bytes: 1_000_000 };
      const results = await Promise.all(
        numbers(1_000, "many").map((name) => submit(ledger, name, { caller: "many", room })),
      );
      expect(results.filter(({ kind }) => kind === "submitted")).toHaveLength(50);
      expect(await submit(ledger, "one", { caller: "one", room })).toMatchObject({ kind: "submitted" });
      expect((await take(ledger, 2)).map(({ caller }) => caller)).toContain("one");
    });
  });
}
