import type { OutboxLedger, Task, TaskLedger, WebhookMessage } from "@calotype/core/stores";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Clock, createClock } from "../ledger-suite/clock.js";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { SEED } from "../support/test-run.js";
import type { OpenTaskLedger } from "./open-tasks.js";
import { callerOf, randomTaskStep, TASK_CALLERS, type TaskStep } from "./random-task-steps.js";
import { type Message, ReferenceTasks } from "./reference-tasks.js";
import { EXPIRED_ERROR, LOST_ERROR, listAll, submissionOf } from "./tasks.js";

const SEQUENCES = fc.array(randomTaskStep, { minLength: 1, maxLength: 50, size: "max" });

/** For any steps in any order, a task store gives the same results as the reference. */
export function describeRandomTasks(open: OpenTaskLedger, runs: number): void {
  describe("tasks in random use", () => {
    it(`agree with the reference after each step of ${runs} random sequences`, async () => {
      await fc.assert(
        fc.asyncProperty(SEQUENCES, async (steps) => {
          const clock = createClock();
          const { ledger, close } = await open(clock);
          const trial: TaskTrial = { ledger, reference: new ReferenceTasks(), clock };
          try {
            for (const step of steps) {
              const said = await takeStep(trial, step);
              expect(said.store).toEqual(said.reference);
              const seen = await observe(trial);
              expect(seen.store).toEqual(seen.reference);
            }
          } finally {
            await close?.();
          }
        }),
        { numRuns: runs, seed: SEED },
      );
    }, 120_000);
  });
}

interface TaskTrial {
  readonly ledger: TaskLedger & OutboxLedger;
  readonly reference: ReferenceTasks;
  readonly clock: Clock;
}

/** The results of both, to be compared. */
interface TaskResults {
  readonly store: unknown;
  readonly reference: unknown;
}

/** Runs a step on both. */
async function takeStep(trial: TaskTrial, step: TaskStep): Promise<TaskResults> {
  const { ledger, reference, clock } = trial;
  const { tasks } = ledger;
  const now = clock.now();
  switch (step.kind) {
    case "submit": {
      const [task, hold] = submissionOf(step.name, step.fields);
      // Each request has its own id, so a task whose record is known is not submitted.
      if (reference.ledger.find(hold.id) !== undefined) return { store: undefined, reference: undefined };
      return { store: await tasks.submit(task, hold), reference: reference.submit(task, hold, now) };
    }
    case "take":
      return await takeTasks(trial, step);
    case "markSent": {
      const id = `task_${step.name}`;
      return { store: await tasks.markSent(id), reference: reference.markSent(id) };
    }
    case "putBack": {
      const ids = step.names.map((name) => `task_${name}`);
      return { store: await tasks.putBack(ids), reference: reference.putBack(ids) };
    }
    case "addImages": {
      const id = `task_${step.name}`;
      return { store: await tasks.addImages(id, ["one"]), reference: reference.addImages(id, ["one"]) };
    }
    case "end":
      return { store: await tasks.end(step.end), reference: reference.end(step.end, now) };
    case "cancel": {
      const id = `task_${step.name}`;
      return {
        store: await tasks.cancel(step.caller, id),
        reference: reference.cancel(step.caller, id, now),
      };
    }
    case "sweep": {
      const options = { ...step, lostError: LOST_ERROR, expiredError: EXPIRED_ERROR };
      const [swept, expected] = [await tasks.sweep(options), reference.sweep(options, now)];
      return {
        store: { ...swept, inputs: swept.inputs.toSorted() },
        reference: { ...expected, inputs: expected.inputs.toSorted() },
      };
    }
    case "sweepLedger":
      return { store: await ledger.sweep({ onLost: "charge", own: step.own }), reference: [] };
    case "deliver":
      return await deliver(trial, step);
    case "advance":
      return { store: clock.advance(step.ms), reference: undefined };
  }
}

/** The store chooses the callers; of each it must take the oldest tasks, and as many as wanted if there are as many. */
async function takeTasks(
  { ledger, reference, clock }: TaskTrial,
  { limit, except }: Extract<TaskStep, { kind: "take" }>,
): Promise<TaskResults> {
  const takeable = reference.takeable(clock.now(), except);
  const taken = await ledger.tasks.take({ limit, except });
  reference.taken(taken.map(({ id }) => id));
  const count = [...takeable.values()].reduce((sum, ids) => sum + ids.length, 0);
  const expected = [...takeable].map(([caller, ids]) => {
    const ofCaller = taken.filter((task) => task.caller === caller);
    return { caller, ids: ids.slice(0, ofCaller.length) };
  });
  return {
    store: {
      count: taken.length,
      tasks: [...takeable.keys()].map((caller) => ({
        caller,
        ids: taken.filter((task) => task.caller === caller).map(({ id }) => id),
      })),
    },
    reference: { count: Math.min(limit, count), tasks: expected },
  };
}

async function deliver(
  { ledger, reference }: TaskTrial,
  { name, state }: Extract<TaskStep, { kind: "deliver" }>,
): Promise<TaskResults> {
  const { outbox } = ledger;
  const [message] = await outbox.list({ task: `task_${name}`, endpoint: "a" }, 1);
  if (message === undefined) return { store: undefined, reference: undefined };
  await outbox.finish(
    message.id,
    state === "delivered" ? { kind: "delivered" } : { kind: "given_up", error: "no" },
  );
  reference.deliver(`task_${name}`, "a", state);
  return { store: message.caller, reference: callerOf(name) };
}

/** Reads everything from both. */
async function observe({ ledger, reference }: TaskTrial): Promise<TaskResults> {
  const { tasks } = ledger;
  const messages = await ledger.outbox.list({}, 100);
  const lists = await Promise.all(TASK_CALLERS.map((caller) => listAll(tasks, caller)));
  return {
    store: {
      tasks: lists,
      newest: await Promise.all(lists.map(async ([task]) => task && tasks.find(task.caller, task.id))),
      balances: await Promise.all(TASK_CALLERS.map((caller) => ledger.balance(caller))),
      records: await readRecords(ledger),
      messages: messages.map(toComparable).toSorted(compareMessages),
    },
    reference: {
      tasks: TASK_CALLERS.map((caller) => reference.list(caller).map(toSummary)),
      newest: TASK_CALLERS.map((caller) => reference.list(caller)[0]),
      balances: TASK_CALLERS.map((caller) => reference.ledger.balance(caller)),
      records: reference.ledger.records(),
      messages: reference.messages().toSorted(compareMessages),
    },
  };
}

/** A list has no images and no results. */
const toSummary = ({ result: _result, ...task }: Task): Task => ({ ...task, images: [] });

/** Without its id, which the store chooses, and its time, which the lease changes. */
function toComparable({ task = "", caller, endpoint, state, attempts, lastError }: WebhookMessage): Message {
  return { task, caller, endpoint, state, attempts, lastError };
}

const placeOf = ({ task, endpoint }: Message): string => `${task} ${endpoint}`;
const compareMessages = (one: Message, other: Message): number => (placeOf(one) < placeOf(other) ? -1 : 1);
