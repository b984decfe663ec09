import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createRandom, SEED } from "../../testing/random.js";
import { ASYNC, BILLING } from "../../testing/task-gateway.js";
import {
  ARK_RESPONSE,
  createTestGateway,
  type Provider,
  refusedConnection,
} from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import type { TaskLedger, TaskStore } from "../task-store/task-store.js";

const SEEDREAM = "seedream-4-5-251128";
const SUBMISSIONS = 12;

const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** A task store whose methods fail before or after their work, or take long. */
function createFaultyStore(store: TaskStore, random: () => number) {
  let isFaulty = true;
  const wrap =
    <Args extends readonly unknown[], Result>(
      method: (...args: Args) => Promise<Result>,
      canFailAfter = true,
    ): ((...args: Args) => Promise<Result>) =>
    async (...args) => {
      const [fault, delay] = [random(), random()];
      if (isFaulty && delay < 0.3) await sleep(delay * 10_000);
      if (isFaulty && fault < 0.2) throw new Error("The store failed before its work.");
      const result = await method(...args);
      if (isFaulty && canFailAfter && fault > 0.85) throw new Error("The store failed after its work.");
      return result;
    };
  /** Fails at once, and does its work later. */
  const putBackLate: TaskStore["putBack"] = async (ids) => {
    if (!isFaulty || random() < 0.8) return store.putBack(ids);
    void sleep(random() * 10_000).then(() => store.putBack(ids));
    throw new Error("The store failed, and does its work later.");
  };
  const faulty: TaskStore = {
    ...store,
    submit: wrap(store.submit.bind(store)),
    // A store that has taken tasks for a failed call returns them to the queue itself.
    take: wrap(store.take.bind(store), false),
    markSent: wrap(store.markSent.bind(store)),
    putBack: wrap(putBackLate),
    addImages: wrap(store.addImages.bind(store)),
    end: wrap(store.end.bind(store)),
    cancel: wrap(store.cancel.bind(store)),
    find: wrap(store.find.bind(store)),
    sweep: wrap(store.sweep.bind(store)),
  };
  return { faulty, repair: () => void (isFaulty = false) };
}

/** Lets the timers of a time run, and whatever they begin. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    // Work that waits for no timer must not be overtaken by the time.
    for (let turns = 0; turns < 4; turns += 1) await turn();
  }
}

async function runWithFaults(seed: number) {
  const random = createRandom(seed);
  const ledger: TaskLedger = createMemoryLedger();
  const { faulty, repair } = createFaultyStore(ledger.tasks, random);
  const changed: TaskLedger = { ...ledger, tasks: faulty };
  const made = new Map<string, number>();
  const provider: Provider = async ({ body }) => {
    const choice = random();
    await sleep(choice * 5_000);
    if (choice < 0.15) throw refusedConnection();
    if (choice < 0.3) return Response.json({ error: { code: "InvalidParameter" } }, { status: 400 });
    const prompt = String(body["prompt"]);
    made.set(prompt, (made.get(prompt) ?? 0) + 1);
    return Response.json(ARK_RESPONSE);
  };
  const { gateway, post, records } = createTestGateway(provider, {
    ledger: changed,
    billing: BILLING,
    limits: { concurrent: 3 },
  });
  const accepted = new Map<string, string>();
  const submitOne = async (prompt: string): Promise<void> => {
    await sleep(random() * 10_000);
    const key = random() < 0.5 ? { "idempotency-key": prompt } : undefined;
    let response = await post({ model: SEEDREAM, prompt }, { ...ASYNC, ...key });
    const repeats = key === undefined ? 0 : 100;
    for (let at = 0; at < repeats && response.status !== 202; at++) {
      await sleep(5_000);
      response = await post({ model: SEEDREAM, prompt }, { ...ASYNC, ...key });
    }
    if (response.status !== 202) return;
    const id = String(response.body["id"]);
    accepted.set(prompt, id);
    if (random() < 0.2) await faulty.cancel("me", id).catch(() => undefined);
  };
  const submissions = Array.from({ length: SUBMISSIONS }, (_, at) => submitOne(`number-${at}`));
  const allSubmitted = Promise.all(submissions);
  await pass(60_000);
  repair();
  await pass(60_000);
  await allSubmitted;
  await pass(30_000);
  const tasks = await ledger.tasks.list("me", { limit: 100 });
  const closing = gateway.close();
  await pass(10_000);
  await closing;
  return { tasks, accepted, made, records, balance: await ledger.balance("me") };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("tasks in a store that fails at random", () => {
  it.each(Array.from({ length: 16 }, (_, at) => SEED + at))(
    "end once, are sent once, and cost what was made: seed %i",
    async (seed) => {
      vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
      });
      const { tasks, accepted, made, records, balance } = await runWithFaults(seed);
      expect(tasks.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
      expect([...made.values()].every((count) => count === 1)).toBe(true);
      const completed = tasks.filter(({ status }) => status === "completed");
      expect(completed).toHaveLength(made.size);
      for (const [prompt, id] of accepted) {
        const status = tasks.find((task) => task.id === id)?.status;
        expect({ prompt, isCompleted: status === "completed" }).toEqual({
          prompt,
          isCompleted: made.has(prompt),
        });
      }
      expect(balance).toEqual({ settled: String(Number((0.3 * made.size).toFixed(1))), held: "0" });
      expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
      expect(records.filter(({ images }) => images === 1)).toHaveLength(made.size);
    },
    15_000,
  );
});
