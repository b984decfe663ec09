import { afterAll, expect, it } from "vitest";
import { type Lab, openLab } from "../work-per-request/lab.js";
import { SCENARIOS, type ScenarioName } from "../work-per-request/scenarios.js";
import {
  countCode,
  countImports,
  countLinesOfParts,
  countLinesOfTests,
  countRepeatedTypes,
  countRootFiles,
} from "./count-sources.js";
import { compareToUndici, countBundle } from "./measure-build.js";

/*
 * The figures of the code that can be counted, and where they shall end. A figure may only shrink. Speed and memory are checked
 * by `npm run bench`. Requests go to the gateway of `server-process.ts`, which has all features.
 */

interface Figure {
  /** What is counted. */
  readonly counts: string;
  /** The figure today. */
  readonly today: number;
  /** Where it shall end. Today's figure, if it has no other goal. */
  readonly goal: number;
}

/** A figure that is the same in each run. If the code has less, write that into the table. More fails. */
interface Counted extends Figure {
  readonly count: () => number | Promise<number>;
}

/**
 * A figure that depends on the machine: a time, or how the network cuts a body into chunks. It has only an upper bound, because
 * a smaller figure may be chance. Write a smaller bound when the code has become better.
 */
interface Bounded extends Figure {
  readonly measure: (today: number) => Promise<number>;
}

let opened: Promise<Lab> | undefined;
const lab = (): Promise<Lab> => (opened ??= openLab());
afterAll(async () => await (await opened)?.close());

const countPromises = async (name: ScenarioName): Promise<number> =>
  await (await lab()).countPromises(SCENARIOS[name]);
const promisesFor = (name: ScenarioName) => ({
  counts: `promises for a request: ${name}`,
  count: () => countPromises(name),
});
/** The network decides in how many chunks a long response arrives. A chunk makes no promise, but the first ones of JSON are read with one. */
const promisesForChunks = (name: ScenarioName) => ({
  counts: `promises for a request: ${name}`,
  measure: () => countPromises(name),
});

const countFiles = async (): Promise<number> => (await (await lab()).listFiles(SCENARIOS.small)).length;
const ALL = `import { createGateway } from "@calotype/core"; export default createGateway({});`;
const SEEDREAM = `export { composeGateway } from "@calotype/core/compose"; export { seedream } from "@calotype/core/families";`;
const BILLING = `export * from "@calotype/core/billing";`;
const OPEN = /\bholds\.open\(/g;
const TAKE_OVER = /\bholds\.(?:adopt|resume)\(/g;
const END = /\bhold\.(?:settle|release|abandon)\(/g;
const isNotHold = (name: string): boolean => name !== "billing/hold.ts" && name !== "billing/commit.ts";
const COMMIT = /\bnew Commit\(/g;
const ITERATOR = /class \w+(?:<[^>]*>)?[^{]*implements[^{]*Async(?:IterableIterator|Iterable|Iterator)</g;
const PARTS = /\binterface \w*Parts\b/g;

const FIGURES: readonly (Counted | Bounded)[] = [
  { counts: "imports from the kernel into features or families", today: 0, goal: 0, count: countImports },
  { counts: "places that open a hold", today: 1, goal: 1, count: () => countCode(OPEN) },
  { counts: "places that take a hold over", today: 2, goal: 2, count: () => countCode(TAKE_OVER) },
  { counts: "ends of holds besides the commit", today: 0, goal: 0, count: () => countCode(END, isNotHold) },
  { counts: "places that create a commit", today: 2, goal: 2, count: () => countCode(COMMIT) },
  { counts: "files of core that run for a small request", today: 109, goal: 60, count: countFiles },
  { ...promisesFor("small"), today: 40, goal: 40 },
  { ...promisesForChunks("4 MB of base64 in a response"), today: 63, goal: 63 },
  { ...promisesForChunks("100 events of 500 B"), today: 50, goal: 50 },
  { ...promisesForChunks("10 events of 1 MB"), today: 50, goal: 50 },
  { ...promisesFor("a form with 3 files of 10 MB"), today: 3122, goal: 3122 },
  { ...promisesFor("JSON with 3 data URLs of 4 MB"), today: 77, goal: 77 },
  { counts: "hundreds of bytes for Workers: all features", today: 1965, goal: 1400, count: countBundle(ALL) },
  { counts: "hundreds of bytes for Workers: seedream", today: 1138, goal: 750, count: countBundle(SEEDREAM) },
  { counts: "hundreds of bytes for Workers: billing", today: 179, goal: 164, count: countBundle(BILLING) },
  { counts: "import of core, over undici", today: 2, goal: 1.3, measure: compareToUndici },
  { counts: "classes that iterate over bytes", today: 5, goal: 5, count: () => countCode(ITERATOR) },
  { counts: "interfaces named …Parts", today: 27, goal: 12, count: () => countCode(PARTS) },
  {
    counts: "type names that are declared in several files of a package",
    today: 0,
    goal: 0,
    count: countRepeatedTypes,
  },
  { counts: "files at the root of core/src", today: 17, goal: 5, count: countRootFiles },
  {
    counts: "hundreds of lines of tests of the kernel, with conformance",
    today: 927,
    goal: 700,
    count: countLinesOfTests,
  },
];

const COUNTED = FIGURES.filter((figure) => "count" in figure);
it.each(COUNTED)("$counts: $today, in the end $goal", async ({ today, count }) => {
  // If it is smaller, write it into the table, so that it stays so. It must not be larger.
  expect(await count()).toBe(today);
});

const BOUNDED = FIGURES.filter((figure) => "measure" in figure);
it.each(BOUNDED)("$counts: at most $today, in the end $goal", async ({ today, measure }) => {
  expect(await measure(today)).toBeLessThanOrEqual(today);
});

/** A new feature or family adds its line. The kernel is everything else in core. */
const HUNDREDS_OF_LINES: Readonly<Record<string, number>> = {
  kernel: 300,
  "families/bfl": 3,
  "families/fal": 3,
  "families/fields": 4,
  "families/gemini": 10,
  "families/openai": 17,
  "families/qwen-image": 10,
  "families/replicate": 3,
  "families/seedream": 10,
  "features/alerts": 2,
  "features/budgets": 6,
  "features/callers": 14,
  "features/cells": 1,
  "features/channel-control": 5,
  "features/channel-parameters": 2,
  "features/channel-probe": 4,
  "features/chat-completions": 4,
  "features/continued-calls": 3,
  "features/converted-requests": 3,
  "features/cors": 2,
  "features/costs": 3,
  "features/dashscope-tasks": 3,
  "features/estimate": 2,
  "features/gemini-endpoint": 4,
  "features/health": 3,
  "features/key-command": 10,
  "features/key-functions": 3,
  "features/limits": 20,
  "features/marks": 17,
  "features/memory-ledger": 1,
  "features/models-list": 2,
  "features/openapi": 20,
  "features/outbox": 5,
  "features/periods": 2,
  "features/reference-page": 2,
  "features/refusals": 6,
  "features/results": 26,
  "features/signed-in-users": 3,
  "features/task-store": 7,
  "features/tasks": 26,
  "features/telemetry": 4,
  "features/usage": 17,
  "features/usage-batches": 2,
  "features/watch-options": 1,
  "features/webhooks": 11,
};
it("hundreds of lines of core without tests: the kernel, and what a gateway can leave out", () => {
  expect(countLinesOfParts()).toEqual(HUNDREDS_OF_LINES);
});
