import { afterAll, expect, it } from "vitest";
import { type Lab, openLab } from "../work-per-request/lab.js";
import { SCENARIOS, type ScenarioName } from "../work-per-request/scenarios.js";
import {
  countCode,
  countImportsOfFeatures,
  countLinesOfCore,
  countLinesOfTests,
  countRepeatedTypes,
  countRootFiles,
} from "./count-sources.js";
import { compareToUndici, countBundle } from "./measure-build.js";

/*
 * The figures of the code that can be counted, and where they shall end. A figure may only shrink. Speed and memory are checked
 * by `npm run bench`. The gateway of the requests is that of `server-process.ts`. A gateway that is composed of limits and a
 * ledger only does not exist yet, so its files are not counted.
 */

interface Figure {
  /** What is counted. */
  readonly counts: string;
  /** The figure today. */
  readonly today: number;
  /** Where it shall end. */
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

const isNotHold = (name: string): boolean => name !== "billing/hold.ts" && name !== "billing/commit.ts";
const ITERATORS = /class \w+(?:<[^>]*>)?[^{]*implements[^{]*Async(?:IterableIterator|Iterable|Iterator)</g;
const GATEWAY = `import { createGateway } from "@calotype/core"; export default createGateway({});`;
const BILLING = `export * from "@calotype/core/billing";`;

const FIGURES: readonly (Counted | Bounded)[] = [
  {
    counts: "imports from the kernel into features or into a family",
    today: 72,
    goal: 0,
    count: countImportsOfFeatures,
  },
  {
    counts: "places that open a hold",
    today: 1,
    goal: 1,
    count: () => countCode(/\bholds\.open\(/g),
  },
  {
    counts: "places that take a hold over",
    today: 2,
    goal: 2,
    count: () => countCode(/\bholds\.(?:adopt|resume)\(/g),
  },
  {
    counts: "places that settle, release or abandon a hold, besides the commit",
    today: 0,
    goal: 0,
    count: () => countCode(/\bhold\.(?:settle|release|abandon)\(/g, isNotHold),
  },
  {
    counts: "places that create a commit",
    today: 2,
    goal: 2,
    count: () => countCode(/\bnew Commit\(/g),
  },
  {
    counts: "files of core that run for a small JSON request, all features",
    today: 119,
    goal: 60,
    count: async () => (await (await lab()).listFiles(SCENARIOS.small)).length,
  },
  {
    counts: "promises for a small JSON request",
    today: 73,
    goal: 40,
    count: () => countPromises("small"),
  },
  {
    // The network decides how many chunks the response has. Each makes two promises: the read, and the wait of the host.
    counts: "promises for 4 MB of base64 in a response",
    today: 358,
    goal: 358,
    measure: () => countPromises("4 MB of base64 in a response"),
  },
  {
    // On a busy machine, several events arrive in one chunk.
    counts: "promises for 100 events of 500 B",
    today: 279,
    goal: 279,
    measure: () => countPromises("100 events of 500 B"),
  },
  {
    // As for 4 MB of base64.
    counts: "promises for 10 events of 1 MB",
    today: 737,
    goal: 737,
    measure: () => countPromises("10 events of 1 MB"),
  },
  {
    counts: "promises for a form with 3 files of 10 MB",
    today: 3155,
    goal: 3155,
    count: () => countPromises("a form with 3 files of 10 MB"),
  },
  {
    counts: "promises for JSON with 3 data URLs of 4 MB",
    today: 110,
    goal: 110,
    count: () => countPromises("JSON with 3 data URLs of 4 MB"),
  },
  {
    counts: "hundreds of bytes of a bundle for Workers after gzip, all features",
    today: 1660,
    goal: 1400,
    count: () => countBundle(GATEWAY),
  },
  {
    counts: "hundreds of bytes of a bundle for Workers after gzip, the billing calculator",
    today: 164,
    goal: 164,
    count: () => countBundle(BILLING),
  },
  {
    counts: "the time to import core, as a multiple of undici's",
    today: 2,
    goal: 1.3,
    measure: (today) => compareToUndici("@calotype/core", today),
  },
  {
    counts: "the time to import the billing calculator, as a multiple of undici's",
    today: 0.25,
    goal: 0.25,
    measure: (today) => compareToUndici("@calotype/core/billing", today),
  },
  { counts: "classes that iterate over bytes", today: 5, goal: 5, count: () => countCode(ITERATORS) },
  {
    counts: "interfaces named …Parts",
    today: 54,
    goal: 12,
    count: () => countCode(/\binterface \w*Parts\b/g),
  },
  { counts: "type names that are declared in several files", today: 34, goal: 0, count: countRepeatedTypes },
  { counts: "files at the root of core/src", today: 36, goal: 5, count: countRootFiles },
  { counts: "hundreds of lines of core without tests", today: 485, goal: 340, count: countLinesOfCore },
  {
    counts: "hundreds of lines of tests in core and conformance",
    today: 954,
    goal: 700,
    count: countLinesOfTests,
  },
];

it.each(FIGURES.filter((figure) => "count" in figure))(
  "$counts: $today, in the end $goal",
  async ({ today, count }) => {
    // If it is smaller, write it into the table, so that it stays so. It must not be larger.
    expect(await count()).toBe(today);
  },
);

it.each(FIGURES.filter((figure) => "measure" in figure))(
  "$counts: at most $today, in the end $goal",
  async ({ today, measure }) => {
    expect(await measure(today)).toBeLessThanOrEqual(today);
  },
);
