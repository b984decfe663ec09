// The figures of the home page, from the stored results that the pages use: runs.jsonl of packages/harden for docs/hardening.md,
// and the results of packages/bench for docs/performance.md.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../pages.ts";

export interface Figures {
  readonly testFiles: number;
  /** Servers that were killed with SIGKILL. */
  readonly kills: number;
  /** Requests whose charges were compared with a model of the money. */
  readonly comparedRequests: number;
  /** When the speed was measured: `2026-11-22`. */
  readonly measured: string;
  /** CPU time in milliseconds of a 4 MB response in base64, through calotype and through Portkey. */
  readonly calotypeMs: number;
  readonly portkeyMs: number;
  /** The images of the picture, and their charge. */
  readonly picture: Picture;
}

/** The usage record of the request that made the picture. */
interface Picture {
  readonly model: string;
  readonly images: number;
  readonly charge: string;
  readonly derivation: { readonly model_price: string; readonly count: number; readonly group_ratio: string };
}

interface Run {
  readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

interface Results {
  readonly date: string;
  readonly works: readonly {
    readonly work: string;
    readonly results: readonly {
      readonly target: string;
      readonly samples: readonly { readonly cpuMs: number }[];
    }[];
  }[];
}

/** @throws Error if a stored result has not what the home page shows */
export function readFigures(): Figures {
  const runs = readText("packages/harden/runs.jsonl").trim().split("\n");
  const parts = runs.map((line): Run => JSON.parse(line)).map((run) => run.parts);
  const sum = (part: string, figure: string): number =>
    parts.reduce((total, one) => total + (one[part]?.[figure] ?? 0), 0);
  const results: Results = JSON.parse(readText("packages/bench/results/gateway.json"));
  return {
    testFiles: globSync("{packages,examples}/**/*.test.{ts,tsx}", {
      cwd: ROOT,
      exclude: ["**/node_modules/**", "**/dist/**"],
    }).length,
    kills: sum("kills", "kills") + sum("tasks", "kills") + sum("pollers", "kills"),
    comparedRequests: sum("money-model", "requests"),
    measured: results.date.slice(0, 10),
    calotypeMs: findMedian(results, "b64-4mb", "calotype-node"),
    portkeyMs: findMedian(results, "b64-4mb", "portkey"),
    picture: JSON.parse(readText("packages/site/public/home/record.json")),
  };
}

/** The median of the CPU time of a target's rounds. */
function findMedian({ works }: Results, work: string, target: string): number {
  const samples =
    works.find((one) => one.work === work)?.results.find((one) => one.target === target)?.samples ?? [];
  const sorted = samples.map(({ cpuMs }) => cpuMs).toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined)
    throw new Error(`packages/bench/results/gateway.json has no ${target} for ${work}.`);
  return median;
}

function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
