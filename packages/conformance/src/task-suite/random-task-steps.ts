import type { TaskEnd } from "@calotype/core/stores";
import * as fc from "fast-check";
import type { TaskFields } from "./tasks.js";
import { taskRecordOf } from "./tasks.js";

/** One call of a task store, or a step of its clock. */
export type TaskStep =
  | { readonly kind: "submit"; readonly name: string; readonly fields: TaskFields }
  | { readonly kind: "take"; readonly limit: number; readonly except: readonly string[] }
  | { readonly kind: "markSent"; readonly name: string }
  | { readonly kind: "putBack"; readonly names: readonly string[] }
  | { readonly kind: "addImages"; readonly name: string }
  | { readonly kind: "end"; readonly end: TaskEnd }
  | { readonly kind: "cancel"; readonly name: string; readonly caller: string }
  | { readonly kind: "sweep"; readonly own: boolean; readonly onLost: "release" | "charge" }
  | { readonly kind: "sweepLedger"; readonly own: boolean }
  | { readonly kind: "deliver"; readonly name: string; readonly state: "delivered" | "given_up" }
  | { readonly kind: "advance"; readonly ms: number };

export const TASK_CALLERS = ["me", "other", "third"] as const;

/** Few tasks, so that several steps concern the same one. */
export const TASK_NAMES: readonly string[] = ["0", "1", "2", "3", "4", "5", "6"];
export const callerOf = (name: string): string => TASK_CALLERS[Number(name) % 3] ?? "me";

const name = fc.constantFrom(...TASK_NAMES);
const milliseconds = fc.constantFrom(0, 1, 50, 100, 1_000);
const amount = fc.constantFrom("0", "0.1", "0.3", "1", null);

const fields = fc.record({
  amount,
  budget: fc.constantFrom(undefined, "0.3", "1"),
  ttlMs: milliseconds,
  keepMs: milliseconds,
  webhooks: fc.constantFrom<readonly string[]>([], ["a"], ["a", "b"]),
  room: fc.constantFrom(undefined, undefined, { tasks: 3, bytes: 1_000 }, { tasks: 9, bytes: 60 }),
  input: fc.constantFrom("in", "input of ten €uro", "x".repeat(40)),
  repeat: fc.constantFrom(undefined, { key: "k", fingerprint: "1" }, { key: "k", fingerprint: "2" }),
});

const submission = fc.record({ name, fields }).map(({ name: of, fields: { repeat, ...rest } }): TaskStep => {
  const caller = callerOf(of);
  // The key identifies the caller too.
  const key = repeat && { ...repeat, key: `${caller} ${repeat.key}` };
  return { kind: "submit", name: of, fields: { ...rest, caller, repeat: key } };
});

const ending = fc
  .record({
    name,
    status: fc.constantFrom("completed" as const, "failed" as const),
    charge: fc.option(amount),
  })
  .map(({ name: of, status, charge }): TaskStep => {
    const record = charge === null ? undefined : taskRecordOf(of, { caller: callerOf(of), charge });
    return { kind: "end", end: { id: `task_${of}`, status, result: `result of ${of}`, record } };
  });

export const randomTaskStep: fc.Arbitrary<TaskStep> = fc.oneof(
  { weight: 6, arbitrary: submission },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("take" as const),
      limit: fc.integer({ min: 1, max: 4 }),
      except: fc.subarray([...TASK_CALLERS], { maxLength: 2 }),
    }),
  },
  { weight: 4, arbitrary: name.map((of): TaskStep => ({ kind: "markSent", name: of })) },
  {
    weight: 2,
    arbitrary: fc.subarray([...TASK_NAMES]).map((names): TaskStep => ({ kind: "putBack", names })),
  },
  { weight: 2, arbitrary: name.map((of): TaskStep => ({ kind: "addImages", name: of })) },
  { weight: 4, arbitrary: ending },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("cancel" as const),
      name,
      caller: fc.constantFrom(...TASK_CALLERS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("sweep" as const),
      own: fc.boolean(),
      onLost: fc.constantFrom("release" as const, "charge" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("sweepLedger" as const), own: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("deliver" as const),
      name,
      state: fc.constantFrom("delivered" as const, "given_up" as const),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: milliseconds }) },
);
