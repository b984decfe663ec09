import { createMemoryLedger, type HoldRecord, type NewTask, type TaskLedger } from "@calotype/core/stores";
import { type Broken, createFunctionPart, type FunctionCheck } from "../function-part.ts";
import { chance, pick, type Random } from "../grammar/draw.ts";

const CALLERS = ["a", "b", "c", "d", "e"] as const;
type Caller = (typeof CALLERS)[number];

interface Room {
  readonly tasks: number;
  readonly bytes: number;
}

/** A submission, or the end of the caller's oldest open task. */
interface Step {
  readonly caller: Caller;
  readonly bytes: number;
  readonly ends: boolean;
}

/** What callers do in a ledger with little room. */
export interface ShareCase {
  readonly room: Room;
  readonly steps: readonly Step[];
}

/** An open task of the model. */
interface Open {
  readonly id: string;
  readonly caller: Caller;
  readonly bytes: number;
}

const MAX_STEPS = 60;

/** Open tasks of several callers against the rule of shares. */
const createShareCheck = (createLedger: () => TaskLedger): FunctionCheck<ShareCase> => ({
  name: "open tasks",
  draw(random) {
    const whole = (max: number): number => Math.floor(random() * max);
    const greedy = pick(random, CALLERS);
    return {
      room: { tasks: 1 + whole(20), bytes: 10 + whole(400) },
      steps: Array.from({ length: 1 + whole(MAX_STEPS) }, () => drawStep(random, greedy)),
    };
  },
  async findBroken({ room, steps }) {
    const { tasks } = createLedger();
    let open: readonly Open[] = [];
    for (const [at, step] of steps.entries()) {
      const { caller, bytes, ends } = step;
      if (ends) {
        const oldest = open.find((task) => task.caller === caller);
        if (oldest === undefined) continue;
        await tasks.cancel(caller, oldest.id);
        open = open.filter((task) => task !== oldest);
        continue;
      }
      const id = `task_${at}`;
      const { kind } = await tasks.submit(...toSubmission({ id, caller, bytes }, room));
      const broken = findBrokenShare({ isStored: kind === "submitted", step, room, open });
      if (broken !== undefined) return { rule: broken, seen: { at, kind, open } };
      if (kind === "submitted") open = [...open, { id, caller, bytes }];
    }
    return undefined;
  },
  *shrink({ room, steps }) {
    for (const at of steps.keys()) yield { room, steps: steps.toSpliced(at, 1) };
  },
});

/** What becomes of a submission. It is said twice, for the caller and for the others, and not as the ledger computes it. */
function findBrokenShare({
  isStored,
  step: { caller, bytes },
  room,
  open,
}: {
  readonly isStored: boolean;
  readonly step: Step;
  readonly room: Room;
  readonly open: readonly Open[];
}): Broken["rule"] | undefined {
  const own = open.filter((task) => task.caller === caller);
  const others = open.filter((task) => task.caller !== caller);
  const left = { tasks: room.tasks - others.length, bytes: room.bytes - sumBytes(others) };
  const wanted = { tasks: own.length + 1, bytes: sumBytes(own) + bytes };
  const isFree = wanted.tasks <= left.tasks && wanted.bytes <= left.bytes;
  const isHalf = wanted.tasks * 2 <= left.tasks && wanted.bytes * 2 <= left.bytes;
  if (isStored && !isFree) return "open tasks: never more than there is room for";
  if (isStored && own.length > 0 && !isHalf)
    return "open tasks: a caller has at most half of what the others leave";
  if (!isStored && own.length === 0 && isFree) return "open tasks: a caller without tasks gets what is left";
  if (!isStored && isHalf) return "open tasks: a caller within its share is not refused";
  return undefined;
}

export const createShareChecks = (createLedger: () => TaskLedger): readonly FunctionCheck[] => [
  createShareCheck(createLedger),
];

/** The shares of callers in the room for tasks. */
export const shares = createFunctionPart(
  {
    name: "shares",
    guarantees:
      "Up to five callers submit and end tasks in a ledger in memory with little room for tasks or for the bytes of their " +
      "requests. A caller has at most half of what the others leave, is not refused within that, and with no task " +
      "gets whatever is left. An input is one room with the " +
      "steps of all callers.",
    weight: 0.3,
  },
  createShareChecks(createMemoryLedger),
);

function drawStep(random: Random, greedy: Caller): Step {
  return {
    caller: chance(random, 0.5) ? greedy : pick(random, CALLERS),
    bytes: 2 + Math.floor(random() * (chance(random, 0.1) ? 300 : 20)),
    ends: chance(random, 0.25),
  };
}

const sumBytes = (tasks: readonly Open[]): number => tasks.reduce((sum, { bytes }) => sum + bytes, 0);

function toSubmission({ id, caller, bytes }: Open, room: Room): [NewTask, HoldRecord] {
  const requestId = `req_${id}`;
  const facts = { caller, model: "m", operation: "generate" } as const;
  // Two bytes of UTF-8 for each character but perhaps one.
  const input = "ä".repeat(bytes / 2) + (bytes % 2 === 1 ? "x" : "");
  return [
    { ...facts, id, requestId, input, webhooks: [], ttlMs: 1_000_000, keepMs: 1_000_000, room },
    {
      ...facts,
      id: requestId,
      task: id,
      time: "2026-01-31T12:00:00.000Z",
      group: "default",
      amount: "1",
      ttlMs: 0,
    },
  ];
}
