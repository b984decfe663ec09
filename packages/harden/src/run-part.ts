import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import type { Finding, FindingFile, Part, PartContext } from "./part.ts";

/** The work of one process. */
export interface Task {
  readonly part: string;
  readonly seed: number;
  readonly seconds: number;
  readonly share: { readonly index: number; readonly of: number };
}

/** The result of a task. */
export interface TaskResult {
  readonly figures: Readonly<Record<string, number>>;
  /** Paths of the finding files. */
  readonly findings: readonly string[];
}

/** The folder of finding files. It is not committed. */
const FINDINGS = join(import.meta.dirname, "../findings");

/** Limits on making a finding smaller. */
const MAX_SHRINK_TRIES = 400;
const MAX_SHRINK_MS = 8_000;
/** A part that finds this many different defects ends. */
const MAX_FINDINGS = 20;

/** Runs a part for its time in this process. */
export async function runPart(part: Part, task: Task): Promise<TaskResult> {
  const end = Date.now() + task.seconds * 1000;
  const figures: Record<string, number> = {};
  const files = new Map<string, string>();
  let current: unknown;
  /** Whether the part tries an input, or was told that it may. */
  let mayTry = false;
  const context: PartContext = {
    seed: task.seed,
    random: createRandom(task.seed, part.name),
    share: task.share,
    isOver() {
      // On a busy machine, the time may be over before a part is ready. It tries one input then.
      const isFirst = !mayTry;
      mayTry = true;
      return (!isFirst && Date.now() >= end) || files.size >= MAX_FINDINGS;
    },
    msLeft: () => Math.max(0, end - Date.now()),
    count(figure, by = 1) {
      figures[figure] = (figures[figure] ?? 0) + by;
    },
    begin(input) {
      current = input;
      mayTry = true;
    },
    async report(finding) {
      if (files.has(finding.rule)) return;
      // Taken before the first await, so that a second report of the same rule does nothing.
      files.set(finding.rule, "");
      files.set(finding.rule, writeFinding(part, task.seed, await makeSmaller(part, finding)));
    },
  };
  const stopWatching = watchProcess((error) => {
    const finding = { rule: `no ${error.kind} in the process`, input: current, seen: error.text };
    if (!files.has(finding.rule)) files.set(finding.rule, writeFinding(part, task.seed, finding));
  });
  // A part that waits forever must not end the process: the parent process reports that it hangs.
  const keepAlive = setInterval(() => undefined, 60_000);
  try {
    await part.run(context);
    // Rejections are reported when the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    clearInterval(keepAlive);
    stopWatching();
  }
  return { figures, findings: [...files.values()] };
}

/** Tries the input of a finding file. Returns the rules that it breaks. */
export async function replayFinding(part: Part, file: FindingFile): Promise<readonly Finding[]> {
  return tryInput(part, file.input, file.seed);
}

/** Tries one input. Returns the rules that it breaks. */
async function tryInput(part: Part, input: unknown, seed: number): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  const stopWatching = watchProcess(({ kind, text }) => {
    found.push({ rule: `no ${kind} in the process`, input, seen: text });
  });
  try {
    await part.replay(input, {
      seed,
      random: createRandom(seed, part.name),
      share: { index: 0, of: 1 },
      isOver: () => false,
      msLeft: () => 60_000,
      count: () => undefined,
      begin: () => undefined,
      async report(finding) {
        found.push(finding);
      },
    });
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    stopWatching();
  }
  return found;
}

async function makeSmaller(part: Part, finding: Finding): Promise<Finding> {
  const end = Date.now() + MAX_SHRINK_MS;
  let smallest = finding;
  let tries = 0;
  for (let isSmaller = true; isSmaller; ) {
    isSmaller = false;
    for (const candidate of part.shrink?.(smallest.input) ?? []) {
      if (tries >= MAX_SHRINK_TRIES || Date.now() >= end) return smallest;
      tries += 1;
      const same = (await tryInput(part, candidate, 1)).find(({ rule }) => rule === finding.rule);
      if (same === undefined) continue;
      smallest = { ...same, input: candidate };
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** Writes the file that replays a finding. */
export function writeFinding(part: Pick<Part, "name">, seed: number, finding: Finding): string {
  const file: FindingFile = { part: part.name, seed, date: new Date().toISOString(), ...finding };
  const hash = createHash("sha256")
    .update(`${finding.rule}${JSON.stringify(finding.input)}`)
    .digest("hex");
  mkdirSync(FINDINGS, { recursive: true });
  const path = join(FINDINGS, `${part.name}-${hash.slice(0, 8)}.json`);
  writeFileSync(path, `${JSON.stringify(file, undefined, 2)}\n`);
  return path;
}

interface ProcessFailure {
  readonly kind: "unhandled rejection" | "uncaught exception";
  readonly text: string;
}

/** Calls `onFailure` for each uncaught exception and unhandled rejection. Returns the function that ends this. */
function watchProcess(onFailure: (failure: ProcessFailure) => void): () => void {
  const onRejection = (reason: unknown): void => {
    onFailure({ kind: "unhandled rejection", text: describe(reason) });
  };
  const onException = (error: unknown): void => {
    onFailure({ kind: "uncaught exception", text: describe(error) });
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
  return () => {
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onException);
  };
}

/** The stack of an error, or any other thrown value as text. */
function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
