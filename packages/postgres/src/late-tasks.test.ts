import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { startDelayingProxy } from "./testing/delaying-proxy.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { expireCall, TIMEOUT_SECONDS } from "./testing/expire-call.js";
import { completionOf, SWEEP, takeNames, taskOf } from "./testing/tasks.js";

await describeWithPostgres(
  "a statement about a task that the network delays or loses",
  ({ url, pool, nameSchema }) => {
    const open = async () => {
      const schema = nameSchema();
      const proxy = await startDelayingProxy(url);
      const proxied = new Pool({ connectionString: proxy.url });
      const ledger = createPostgresLedger({ pool: proxied, schema, timeoutSeconds: TIMEOUT_SECONDS });
      // Not through the proxy.
      const other = createPostgresLedger({ pool, schema });
      onTestFinished(async () => {
        await ledger.close();
        await other.close();
        await proxied.end();
        await proxy.close();
      });
      await ledger.ready();
      return {
        proxy,
        ledger,
        other,
        /** Withholds the statement of a call until the ledger gives up. */
        expire: (name: string, call: () => Promise<unknown>) => expireCall(proxy, `.${name}(`, call),
        count: async (table: string) => (await pool.query(`SELECT FROM "${schema}".${table}`)).rowCount,
        /** Withholds the first statement of a call, closes its connection, and lets the second one through. */
        loseOnce: async <T>(name: string, call: () => Promise<T>): Promise<T> => {
          proxy.delay(`.${name}(`);
          const result = call();
          await vi.waitUntil(() => proxy.delayed() === 1);
          proxy.delay("no statement");
          proxy.cutOff();
          return await result;
        },
      };
    };

    it("does not store the task after its submission failed and it was cancelled", async () => {
      const { proxy, ledger, expire, count } = await open();
      await expire("submit_tasks_within_shares", () => ledger.tasks.submit(...taskOf("1")));
      expect(await ledger.tasks.cancel("me", "task_1")).toBeUndefined();
      expect(proxy.delayed()).toBe(1);
      await proxy.deliver();

      expect(await count("tasks")).toBe(0);
      expect(await count("holds")).toBe(0);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("is cancelled if it stored the task before the cancellation", async () => {
      const { proxy, ledger, expire } = await open();
      await expire("submit_tasks_within_shares", () => ledger.tasks.submit(...taskOf("1")));
      await proxy.deliver();

      expect(await ledger.tasks.cancel("me", "task_1")).toMatchObject({ task: { status: "cancelled" } });
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(await takeNames(ledger)).toEqual([]);
    });

    it("leaves no marker for an unknown id that somebody cancels", async () => {
      const { ledger, count } = await open();
      expect(await ledger.tasks.cancel("me", "task_unknown")).toBeUndefined();
      expect(await count("released_holds")).toBe(0);
    });

    it("stores the task once if the submission was sent twice, whichever arrives first", async () => {
      const { proxy, ledger, loseOnce } = await open();
      const submitted = await loseOnce("submit_tasks_within_shares", () =>
        ledger.tasks.submit(...taskOf("1")),
      );
      expect(submitted).toMatchObject({ kind: "submitted", task: { id: "task_1" } });
      expect(await takeNames(ledger)).toEqual(["1"]);
      await proxy.deliver();

      expect(await takeNames(ledger)).toEqual([]);
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    });

    it("does not store the task after its submission was sent again and refused, though the budget has room by then", async () => {
      const { proxy, ledger, loseOnce, count } = await open();
      await ledger.tasks.submit(...taskOf("0"));
      const refused = await loseOnce("submit_tasks_within_shares", () =>
        ledger.tasks.submit(...taskOf("1", { budget: "0.9" })),
      );
      expect(refused.kind).toBe("refused");
      await vi.waitUntil(async () => (await count("released_holds")) === 1);
      await ledger.tasks.cancel("me", "task_0");
      await proxy.deliver();

      expect(await ledger.tasks.find("me", "task_1")).toBeUndefined();
      expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0" });
    });

    it("takes nothing for good: tasks that a lost call took come back", async () => {
      const { proxy, ledger, loseOnce } = await open();
      for (const name of ["1", "2", "3"]) await ledger.tasks.submit(...taskOf(name));
      expect(await loseOnce("take_sent_and_waiting_tasks", () => takeNames(ledger, [], 1))).toEqual(["1"]);
      // The first statement arrives now, and takes the second task for a call that has its result already.
      await proxy.deliver();
      await vi.waitUntil(async () => (await takeNames(ledger)).join() === "2,3");

      expect(await takeNames(ledger)).toEqual([]);
    });

    it("takes nothing for good: the next sweep returns what a call took that failed", async () => {
      const { proxy, ledger, expire, other } = await open();
      await ledger.tasks.submit(...taskOf("1"));
      await expire("take_sent_and_waiting_tasks", () => takeNames(ledger));
      await proxy.deliver();
      expect(await takeNames(other)).toEqual([]);
      await ledger.tasks.sweep(SWEEP);

      expect(await takeNames(other)).toEqual(["1"]);
    });

    it("marks a task once, and still says that it may be sent", async () => {
      const { proxy, ledger, loseOnce } = await open();
      await ledger.tasks.submit(...taskOf("1"));
      await takeNames(ledger);
      expect(await loseOnce("mark_sent", () => ledger.tasks.markSent("task_1"))).toBe(true);
      await proxy.deliver();
      expect(await ledger.tasks.markSent("task_1")).toBe(false);
    });

    it("does not keep a task in progress whose mark failed: it goes back to the queue", async () => {
      const { proxy, ledger, expire } = await open();
      await ledger.tasks.submit(...taskOf("1"));
      await takeNames(ledger);
      await expire("mark_sent", () => ledger.tasks.markSent("task_1"));
      await proxy.deliver();
      expect(await ledger.tasks.find("me", "task_1")).toMatchObject({ status: "in_progress" });
      await ledger.tasks.putBack(["task_1"]);

      expect(await takeNames(ledger)).toEqual(["1"]);
      expect(await ledger.tasks.find("me", "task_1")).toMatchObject({ status: "queued" });
      expect(await ledger.tasks.markSent("task_1")).toBe(true);
    });

    it("does not queue a task to be continued again if the call that took it failed", async () => {
      const { proxy, ledger, expire, other } = await open();
      await other.tasks.submit(...taskOf("1"));
      await takeNames(other);
      await other.tasks.markSent("task_1");
      await other.tasks.keepUpstream?.("task_1", "kept");
      await other.tasks.sweep({ ...SWEEP, own: true });
      await expire("take_sent_and_waiting_tasks", () => takeNames(ledger));
      await proxy.deliver();
      expect(await takeNames(other)).toEqual([]);

      const [task] = await ledger.tasks.take({ limit: 1, except: [] });
      expect(task).toMatchObject({ id: "task_1", status: "in_progress", upstream: "kept" });
      await expect(ledger.tasks.markSent("task_1")).resolves.toBe(false);
    });

    it("does not replace what was kept later to continue a task", async () => {
      const { proxy, ledger, other, loseOnce } = await open();
      await ledger.tasks.submit(...taskOf("1"));
      await takeNames(ledger);
      await ledger.tasks.markSent("task_1");
      await loseOnce("keep_upstream", async () => ledger.tasks.keepUpstream?.("task_1", "first"));
      await ledger.tasks.keepUpstream?.("task_1", "second");
      await proxy.deliver();
      await ledger.tasks.sweep({ ...SWEEP, own: true });

      expect(await other.tasks.take({ limit: 1, except: [] })).toMatchObject([{ upstream: "second" }]);
    });

    it("adds images and ends a task once", async () => {
      const { proxy, ledger, loseOnce } = await open();
      await ledger.tasks.submit(...taskOf("1", { webhooks: ["shop"] }));
      await takeNames(ledger);
      await ledger.tasks.markSent("task_1");
      await loseOnce("add_images", () => ledger.tasks.addImages("task_1", ["one"]));
      await proxy.deliver();
      expect(await ledger.tasks.find("me", "task_1")).toMatchObject({ images: ["one"] });
      await loseOnce("end_tasks", () => ledger.tasks.end(completionOf("1")));
      await proxy.deliver();

      expect(await ledger.outbox.list({}, 9)).toHaveLength(1);
      expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
      const [message] = await ledger.outbox.list({}, 9);
      const finish = () =>
        ledger.outbox.finish(message?.id ?? "", { kind: "retry", delayMs: 0, error: "503" });
      await loseOnce("finish_message", finish);
      await proxy.deliver();
      expect(await ledger.outbox.list({}, 9)).toMatchObject([{ attempts: 1 }]);
    });

    it("counts once if its connection was lost after it had arrived", async () => {
      const schema = nameSchema();
      const name = `calotype-${schema.slice(-8)}`;
      const own = new Pool({ connectionString: url, application_name: name, max: 4, maxUses: 3 });
      const ledger = createPostgresLedger({ pool: own, schema });
      await ledger.ready();
      const over = new AbortController();
      let done = 0;
      /** Repeats a call until it succeeds, as the gateway does. */
      const until = async <T>(call: () => Promise<T>): Promise<T> => {
        for (;;) {
          try {
            const result = await call();
            done++;
            return result;
          } catch {
            // Four attempts in a row lost their session.
          }
        }
      };
      const kill = async (): Promise<void> => {
        const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
        for (let before = -1; !over.signal.aborted; ) {
          // On a slow machine, no session would last long enough for a call.
          if (done > before) {
            before = done;
            await pool.query(end, [name]);
          }
          await sleep(15);
        }
      };
      const killing = kill();
      const submitted: string[] = [];
      await Promise.all(
        Array.from({ length: 100 }, async (_, at) => {
          const [task, hold] = taskOf(String(at), { caller: `caller_${at % 5}` });
          try {
            if ((await ledger.tasks.submit(task, hold)).kind === "submitted") submitted.push(task.id);
            done++;
          } catch {
            await until(() => ledger.tasks.cancel(task.caller, task.id));
          }
        }),
      );
      const taken: string[] = [];
      while (taken.length < submitted.length) {
        for (const { id } of await until(() => ledger.tasks.take({ limit: 7, except: [] }))) taken.push(id);
      }
      expect(taken.toSorted()).toEqual(submitted.toSorted());
      for (const id of taken) {
        await until(() => ledger.tasks.markSent(id));
        await until(() => ledger.tasks.end(completionOf(id.replace("task_", ""))));
      }
      over.abort();
      await killing;

      const balances = await pool.query(`SELECT sum(held) AS held FROM "${schema}".balances`);
      expect(balances.rows).toEqual([{ held: "0" }]);
      await ledger.close();
      await own.end();
    });
  },
);
