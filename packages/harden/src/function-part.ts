import { setImmediate as nextTurn } from "node:timers/promises";
import type { Random } from "./grammar/draw.ts";
import type { Part, PartContext } from "./part.ts";

/** A rule that an input broke. */
export interface Broken {
  /** A sentence that holds, without details of the input. */
  readonly rule: string;
  readonly seen?: unknown;
}

/**
 * Inputs of one kind for functions that work without a gateway, and the rules for their results. The input is a JSON
 * value and is frozen, so a function that changes it throws.
 */
export interface FunctionCheck<Input = unknown> {
  /** Unique in its part. */
  readonly name: string;
  /** Its share of the inputs of the part. Default 1. */
  readonly weight?: number;
  draw(random: Random): Input;
  /** Calls the functions. Returns the first rule that is broken, if any. It must not use chance. */
  findBroken(input: Input): Broken | undefined | Promise<Broken | undefined>;
  /** Smaller inputs that may break the same rule, the most promising first. */
  shrink?(input: Input): Iterable<Input>;
}

/** An input as a finding file holds it. */
export interface CheckInput {
  readonly check: string;
  readonly input: unknown;
}

/** The number of inputs between two looks at the clock. */
const BATCH = 64;
/** The time limit of an input. Nearly all inputs take less than a millisecond. */
const MAX_MS = 100;
/** A slow input runs this number of times, because another process may have delayed it. */
const TIMED_RUNS = 4;

/** A part that calls functions directly. Its figure counts different inputs: one that is drawn again counts once. */
export function createFunctionPart(
  description: Pick<Part, "name" | "guarantees" | "weight">,
  checks: readonly FunctionCheck[],
): Part<CheckInput> {
  const drawCheck = createDrawer(checks);
  const find = (name: string): FunctionCheck => {
    const check = checks.find((other) => other.name === name);
    if (check === undefined) throw new RangeError(`No check ${name} in the part ${description.name}`);
    return check;
  };
  const tryInput = async (
    check: FunctionCheck,
    input: unknown,
    context: PartContext<CheckInput>,
  ): Promise<void> => {
    const broken = await findBroken(check, input);
    if (broken === undefined) return;
    const seen = broken.seen === undefined ? undefined : describe(broken.seen);
    await context.report({ rule: broken.rule, input: { check: check.name, input }, seen });
  };
  return {
    ...description,
    isParallel: true,
    async run(context) {
      const isNew = createNovelty();
      const { random } = context;
      while (!context.isOver()) {
        for (let left = BATCH; left > 0; left -= 1) {
          const check = drawCheck(random);
          const input = deepFreeze(check.draw(random));
          context.begin({ check: check.name, input });
          if (isNew(check.name, input)) context.count("inputs");
          await tryInput(check, input, context);
        }
        // Unhandled rejections are reported between two turns of the event loop.
        await nextTurn();
      }
    },
    replay: ({ check, input }, context) => tryInput(find(check), deepFreeze(input), context),
    *shrink({ check, input }) {
      for (const smaller of find(check).shrink?.(input) ?? []) yield { check, input: smaller };
    },
  };
}

/** Draws a check by its weight. */
function createDrawer(checks: readonly FunctionCheck[]): (random: Random) => FunctionCheck {
  const total = checks.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return (random) => {
    let left = random() * total;
    for (const check of checks) {
      left -= check.weight ?? 1;
      if (left < 0) return check;
    }
    throw new RangeError("A part needs at least one check.");
  };
}

async function findBroken(check: FunctionCheck, input: unknown): Promise<Broken | undefined> {
  const { broken, ms } = await runTimed(check, input);
  if (broken !== undefined || ms <= MAX_MS) return broken;
  const times = [ms];
  while (times.length < TIMED_RUNS) times.push((await runTimed(check, input)).ms);
  return Math.min(...times) <= MAX_MS
    ? undefined
    : { rule: `${check.name}: an input takes at most ${MAX_MS} ms`, seen: times };
}

async function runTimed(
  check: FunctionCheck,
  input: unknown,
): Promise<{ readonly broken: Broken | undefined; readonly ms: number }> {
  const start = performance.now();
  try {
    const found = check.findBroken(input);
    // Most checks are synchronous, and a microtask takes as long as a small input.
    const broken = found instanceof Promise ? await found : found;
    for (const name in {})
      return { broken: { rule: "no input changes Object.prototype", seen: name }, ms: 0 };
    return { broken, ms: performance.now() - start };
  } catch (error) {
    return { broken: { rule: `${check.name}: throws only documented errors`, seen: error }, ms: 0 };
  }
}

/** 2 ** 28 bits: 32 MiB. */
const NOVELTY_BITS = 28;

/**
 * Recognizes inputs that were drawn before, by a hash of their JSON. Different inputs with the same hash count once: of
 * five million inputs, about one of 100 is not counted.
 */
function createNovelty(): (check: string, input: unknown) => boolean {
  const words = new Uint32Array(2 ** (NOVELTY_BITS - 5));
  return (check, input) => {
    const hash = hashText(`${check} ${JSON.stringify(input)}`) >>> (32 - NOVELTY_BITS);
    const bit = 1 << (hash & 31);
    const word = words[hash >>> 5] ?? 0;
    words[hash >>> 5] = word | bit;
    return (word & bit) === 0;
  };
}

/** FNV-1a, with the finish of MurmurHash3 that spreads similar texts over all bits. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Freezes a JSON value and everything in it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const item of Object.values(value)) deepFreeze(item);
  return value;
}

function describe(seen: unknown): string {
  if (seen instanceof Error) return seen.stack ?? seen.message;
  return typeof seen === "string" ? seen : (JSON.stringify(seen) ?? String(seen));
}
