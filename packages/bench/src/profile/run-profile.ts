import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchOptions } from "../command-line.ts";
import { type Lab, openLab } from "../lab.ts";
import { formatMs } from "../report/format.ts";
import { renderText } from "../report/render-tables.ts";
import type { Progress } from "../run-bench.ts";
import { TARGET_KINDS } from "../target.ts";
import { WORKS, type Work } from "../works.ts";
import { readSelfTimes, type SelfTime, sumByPackage } from "./read-profile.ts";

const COLUMNS = ["µs/request", "share"];
const SHOWN = 60;
const SECONDS = 6;
const PROFILED_ROUNDS = 4;

/** Prints in which functions a target spends its time, for each work. */
export async function runProfile({ works }: BenchOptions, target: string, { say }: Progress): Promise<void> {
  const lab = await openLab();
  try {
    for (const work of WORKS.filter(({ id }) => works.includes(id))) {
      say(await profile(lab, target, work));
    }
  } finally {
    await lab.stop();
  }
}

async function profile(lab: Lab, id: string, work: Work): Promise<string> {
  const kind = TARGET_KINDS.find((each) => each.id === id);
  if (kind === undefined) throw new Error(`There is no target ${id}.`);
  const folder = mkdtempSync(join(tmpdir(), "calotype-bench-profile-"));
  try {
    const nodeArguments = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--cpu-prof-interval=200"];
    const target = await lab.start(kind, { nodeArguments });
    const request = {
      kind: "run",
      response: work.id,
      concurrency: work.concurrency,
      maxSeconds: SECONDS,
    } as const;
    await lab.load(target, { ...request, requests: work.warmUp });
    const began = Number(process.hrtime.bigint()) / 1000;
    const measured = await lab.measure(target, { ...request, requests: PROFILED_ROUNDS * work.requests });
    await target.stop();
    const [file = ""] = readdirSync(folder);
    const times = readSelfTimes(readFileSync(join(folder, file), "utf8"), began);
    const title = `${kind.title}, ${work.title}: ${measured.completed} requests, ${formatMs(measured.cpuMs)} ms each with the profiler`;
    const toRows = createRows(times, measured.completed);
    return [
      renderText({ title, rows: [["package", ...COLUMNS], ...toRows(sumByPackage(times))], notes: [] }),
      renderText({
        title: "",
        rows: [["own time", ...COLUMNS], ...toRows(times.slice(0, SHOWN))],
        notes: [],
      }),
    ].join("\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function createRows(all: readonly SelfTime[], requests: number): (times: readonly SelfTime[]) => string[][] {
  const total = all.reduce((sum, { ms }) => sum + ms, 0);
  return (times) =>
    times.map(({ name, ms }) => [
      name,
      ((ms / requests) * 1000).toFixed(1),
      `${((ms / total) * 100).toFixed(1)} %`,
    ]);
}
