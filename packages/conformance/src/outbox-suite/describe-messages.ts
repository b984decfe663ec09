import type { WebhookMessage } from "@calotype/core/stores";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { START } from "../ledger-suite/clock.js";
import { type OpenTaskLedger, useTaskLedger } from "../task-suite/open-tasks.js";
import { completionOf, start, submit, sweepTasks, TTL_MS, take, taskOf } from "../task-suite/tasks.js";

const LEASE_MS = 5_000;

/** Messages about ended tasks are sent until they are delivered or given up. */
export function describeMessages(open: OpenTaskLedger): void {
  describe("a webhook message", () => {
    const bench = useTaskLedger(open);

    /** Ends a task with these webhooks, and returns the ids of its messages in the order of the webhooks. */
    async function endTask(
      name: string,
      webhooks: readonly string[] = ["shop"],
      caller = "me",
    ): Promise<readonly string[]> {
      const { ledger, tasks, outbox } = bench();
      await submit(ledger, name, { webhooks, caller });
      await tasks.cancel(caller, `task_${name}`);
      const messages = await outbox.list({ task: `task_${name}` }, 100);
      return webhooks.map((webhook) => messages.find(({ endpoint }) => endpoint === webhook)?.id ?? "");
    }

    const takeMessages = async (limit = 100, except: { caller: string; endpoint?: string }[] = []) =>
      await bench().outbox.lease("message", { limit, leaseMs: LEASE_MS, except });
    const takeIds = async (limit?: number): Promise<string[]> =>
      (await takeMessages(limit)).map(({ message }) => message.id);
    const stateOf = async (id: string): Promise<WebhookMessage | undefined> =>
      (await bench().outbox.list({}, 100)).find((message) => message.id === id);

    it.each<[string, (name: string) => Promise<unknown>]>([
      ["completed", async (name) => await bench().tasks.end(completionOf(name))],
      ["failed", async (name) => await bench().tasks.end({ id: `task_${name}`, status: "failed" })],
      ["failed", async () => await sweepTasks(bench().ledger, { own: true })],
    ])("is written if a task that was sent ends as %s", async (status, end) => {
      const { ledger, tasks, outbox } = bench();
      await start(ledger, "1", { webhooks: ["shop"] });
      expect(await outbox.list({}, 9)).toEqual([]);
      await end("1");

      const [taken] = await takeMessages();
      expect(taken?.task).toEqual(await tasks.find("me", "task_1"));
      expect(taken?.task?.status).toBe(status);
    });

    it.each<[string, () => Promise<unknown>]>([
      ["is cancelled", async () => await bench().tasks.cancel("me", "task_1")],
      [
        "waited too long",
        async () => {
          bench().clock.advance(TTL_MS);
          return await sweepTasks(bench().ledger);
        },
      ],
    ])("is written if a task %s", async (_what, end) => {
      const { ledger, tasks } = bench();
      await submit(ledger, "1", { webhooks: ["shop"] });
      await end();

      const [taken] = await takeMessages();
      expect(taken?.task).toEqual(await tasks.find("me", "task_1"));
    });

    it("is written for each endpoint of the task, once", async () => {
      const { outbox } = bench();
      await endTask("1", ["shop", "archive", "shop"]);
      const messages = await outbox.list({}, 9);

      expect(messages.map(({ endpoint }) => endpoint).toSorted()).toEqual(["archive", "shop"]);
      for (const message of messages) {
        expect(message).toMatchObject({ task: "task_1", caller: "me", state: "waiting", attempts: 0 });
        expect(message.id).toMatch(/^msg_[0-9a-f]{32}$/);
        expect(message.nextAt).toBe(START);
        expect(message.lastError).toBeUndefined();
      }
      expect(messages[0]?.id).not.toBe(messages[1]?.id);
    });

    it("is not written while a task only goes back to the queue, nor for a task without webhooks", async () => {
      const { ledger, outbox } = bench();
      await submit(ledger, "1", { webhooks: ["shop"] });
      await take(ledger);
      await sweepTasks(ledger, { own: true });
      await endTask("2", []);

      expect(await outbox.list({}, 9)).toEqual([]);
    });

    it("is not written again by a late end", async () => {
      const { ledger, tasks, outbox } = bench();
      await start(ledger, "1", { webhooks: ["shop"] });
      await sweepTasks(ledger, { own: true });
      await tasks.end(completionOf("1"));

      expect(await outbox.list({}, 9)).toHaveLength(1);
      expect((await takeMessages())[0]?.task).toMatchObject({ status: "failed" });
    });

    it("that failed is sent again after its delay, not after its lease", async () => {
      const { clock, outbox } = bench();
      const [id = ""] = await endTask("1");
      await takeIds();
      clock.advance(1_000);
      await outbox.finish(id, { kind: "retry", delayMs: 60_000, error: "503" });
      expect(await stateOf(id)).toEqual({
        id,
        task: "task_1",
        caller: "me",
        endpoint: "shop",
        state: "waiting",
        attempts: 1,
        nextAt: START + 61_000,
        lastError: "503",
      });
      clock.advance(59_999);
      expect(await takeIds()).toEqual([]);
      clock.advance(1);

      expect(await takeMessages()).toMatchObject([{ message: { id, attempts: 1, lastError: "503" } }]);
    });

    it("that was given up is not sent again", async () => {
      const { clock, outbox } = bench();
      const [id = ""] = await endTask("1");
      await takeIds();
      await outbox.finish(id, { kind: "retry", delayMs: 1, error: "503" });
      await outbox.finish(id, { kind: "given_up", error: "404" });
      clock.advance(LEASE_MS);

      expect(await takeIds()).toEqual([]);
      expect(await stateOf(id)).toMatchObject({ state: "given_up", attempts: 2, lastError: "404" });
    });

    it("that was delivered by one sender stays so when a slower one fails, and the other way round", async () => {
      const { outbox } = bench();
      const [first = "", second = ""] = await endTask("1", ["shop", "archive"]);
      await outbox.finish(first, { kind: "delivered" });
      await outbox.finish(first, { kind: "retry", delayMs: 0, error: "503" });
      await outbox.finish(first, { kind: "given_up", error: "503" });
      await outbox.finish(second, { kind: "given_up", error: "503" });
      await outbox.finish(second, { kind: "retry", delayMs: 0, error: "503" });
      expect(await stateOf(second)).toMatchObject({ state: "given_up" });
      await outbox.finish(second, { kind: "delivered" });

      for (const id of [first, second]) {
        const message = await stateOf(id);
        expect(message?.state).toBe("delivered");
        expect(message?.lastError).toBeUndefined();
      }
      expect(await takeIds()).toEqual([]);
    });

    it("that is unknown is left alone, and a bad delay is refused", async () => {
      const { outbox } = bench();
      const [id = ""] = await endTask("1");
      await outbox.finish("msg_unknown", { kind: "delivered" });
      for (const delayMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
        await expect(outbox.finish(id, { kind: "retry", delayMs, error: "" })).rejects.toThrow(RangeError);
      }

      expect(await stateOf(id)).toMatchObject({ state: "waiting", attempts: 0 });
    });

    it("for an endpoint that is left out does not delay the others", async () => {
      await endTask("1", ["busy"]);
      await endTask("2", ["busy"], "other");
      const [id] = await endTask("3");

      const except = [{ caller: "me", endpoint: "busy" }];
      const taken = await takeMessages(1, [...except, { caller: "other", endpoint: "busy" }]);
      expect(taken.map(({ message }) => message.id)).toEqual([id]);
      expect((await takeMessages(9, except)).map(({ message }) => message.caller)).toEqual(["other"]);
      expect(await takeMessages()).toMatchObject([{ message: { caller: "me", endpoint: "busy" } }]);
    });

    it("for any endpoint of a caller that is left out does not delay the others", async () => {
      await endTask("1", ["one", "two"]);
      await endTask("2", ["one"], "me too");
      const [id] = await endTask("3", ["one"], "other");

      const taken = await takeMessages(1, [{ caller: "me" }, { caller: "me too", endpoint: "one" }]);
      expect(taken.map(({ message }) => message.id)).toEqual([id]);
      expect((await takeMessages(9, [{ caller: "me" }])).map(({ message }) => message.caller)).toEqual([
        "me too",
      ]);
      expect((await takeMessages()).map(({ message }) => message.endpoint)).toEqual(["one", "two"]);
    });

    it("for a disabled endpoint waits until it is enabled again", async () => {
      const { outbox } = bench();
      const [before = ""] = await endTask("1");
      await outbox.setDisabled("me", "shop", true);
      await outbox.setDisabled("me", "shop", true);
      const [after = ""] = await endTask("2");
      const [others] = await endTask("3", ["shop"], "other");

      expect(await outbox.listDisabled()).toEqual([{ caller: "me", endpoint: "shop" }]);
      expect(await takeIds()).toEqual([others]);
      expect(await stateOf(before)).toMatchObject({ state: "waiting" });
      await outbox.setDisabled("me", "shop", false);
      expect(await outbox.listDisabled()).toEqual([]);
      expect((await takeIds()).toSorted()).toEqual([before, after].toSorted());
    });

    it("that is replayed is sent at once, with a new series of attempts", async () => {
      const { clock, outbox } = bench();
      const [delivered = "", given = "", late = ""] = await endTask("1", ["a", "b", "c"]);
      await outbox.finish(delivered, { kind: "delivered" });
      await outbox.finish(given, { kind: "given_up", error: "404" });
      await outbox.finish(late, { kind: "retry", delayMs: 60_000, error: "503" });
      clock.advance(1);

      expect(await outbox.replay({})).toBe(3);
      expect((await takeIds()).toSorted()).toEqual([delivered, given, late].toSorted());
      for (const id of [delivered, given, late]) {
        const message = await stateOf(id);
        expect(message).toMatchObject({ state: "waiting", attempts: 0 });
        expect(message?.lastError).toBeUndefined();
      }
    });

    it("that is replayed to a disabled endpoint waits until that is enabled", async () => {
      const { outbox } = bench();
      const [id = ""] = await endTask("1");
      await outbox.finish(id, { kind: "delivered" });
      await outbox.setDisabled("me", "shop", true);
      await outbox.replay({});
      expect(await takeIds()).toEqual([]);
      await outbox.setDisabled("me", "shop", false);

      expect(await takeIds()).toEqual([id]);
    });

    it.each<[object, string[]]>([
      [{}, ["1 a", "1 b", "2 a", "3 a"]],
      [{ caller: "me" }, ["1 a", "1 b", "2 a"]],
      [{ endpoint: "a" }, ["1 a", "2 a", "3 a"]],
      [{ task: "task_1" }, ["1 a", "1 b"]],
      [{ state: "delivered" }, ["1 b"]],
      [{ caller: "me", endpoint: "a", state: "waiting" }, ["1 a", "2 a"]],
      [{ caller: "third" }, []],
      [{ task: "task_1", endpoint: undefined }, ["1 a", "1 b"]],
    ])("is found by the filter %j, for lists and replays", async (filter, expected) => {
      const { outbox } = bench();
      const [, second = ""] = await endTask("1", ["a", "b"]);
      await endTask("2", ["a"]);
      await endTask("3", ["a"], "other");
      await outbox.finish(second, { kind: "delivered" });
      const found = await outbox.list(filter, 100);

      const names = found.map(({ task, endpoint }) => `${task?.replace("task_", "")} ${endpoint}`);
      expect(names.toSorted()).toEqual(expected);
      expect(await outbox.replay(filter)).toBe(expected.length);
    });

    it("is listed with the newest first, at most as many as asked for", async () => {
      const ids = [];
      for (let at = 0; at < 5; at++) ids.push(...(await endTask(String(at))));
      const listed = await bench().outbox.list({}, 3);

      expect(listed.map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 3));
    });

    it("belongs to the task as it ended", async () => {
      const { ledger, tasks, clock } = bench();
      await start(ledger, "1", { webhooks: ["shop"] });
      await tasks.addImages("task_1", ["one"]);
      clock.advance(7);
      await tasks.end(completionOf("1", { result: "the result" }));

      const ended = { status: "completed", endedAt: START + 7, result: "the result" } as const;
      expect((await takeMessages())[0]?.task).toEqual(taskOf("1", ended));
    });

    it("is told to listeners when it waits, also again after a replay and after its endpoint was enabled", async () => {
      const { ledger, tasks, outbox } = bench();
      await start(ledger, "1", { webhooks: ["shop"] });
      const told: string[] = [];
      onTestFinished(outbox.watch((kind) => void told.push(kind)));
      for (const change of [
        async () => await tasks.end(completionOf("1")),
        async () => await outbox.replay({}),
        async () => await outbox.setDisabled("me", "shop", false),
      ]) {
        told.length = 0;
        await change();
        await vi.waitFor(() => expect(told).toContain("message"));
      }
    });
  });
}
