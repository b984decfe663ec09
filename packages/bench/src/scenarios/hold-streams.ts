import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Lab } from "../lab.ts";
import type { ScenarioResult } from "../results.ts";
import { readHeldBytes } from "../system/process-cost.ts";
import { REFERENCE, TARGET_KINDS, type TargetKind } from "../target.ts";

const STREAMS = 5_000;
/** The gateway needs two sockets per stream, and some file descriptors of its own. */
const SOCKETS_PER_STREAM = 2;
const OTHER_FILES = 500;
const INTERVAL_MS = 400;
const MAX_SECONDS = 60;
const MAX_ROUNDS = 3;

/**
 * Opens streams, measures the memory when all have begun, reads each to its end, and fails if a byte is missing.
 * Every measurement uses a new process.
 */
export async function holdStreams(lab: Lab, rounds: number): Promise<ScenarioResult> {
  const count = Math.min(STREAMS, Math.floor((readFileLimit() - OTHER_FILES) / SOCKETS_PER_STREAM));
  const kinds = [REFERENCE, "calotype-node"].flatMap(
    (id) => TARGET_KINDS.find((kind) => kind.id === id) ?? [],
  );
  const values = new Map(kinds.map(({ id }) => [id, [] as number[]]));
  for (let round = 0; round < Math.min(rounds, MAX_ROUNDS); round++) {
    for (const kind of kinds) values.get(kind.id)?.push(await holdOnce(lab, kind, count));
  }
  const toSide = ({ id, title }: TargetKind) =>
    ({ title, values: values.get(id) ?? [], unit: "MB" }) as const;
  const [base, other] = kinds.map(toSide);
  if (base === undefined || other === undefined) throw new Error("A target is missing.");
  return {
    id: "streams",
    title: `Memory with ${count.toLocaleString("en-US")} open streams, none of which lost an event, over the minimal gateway's`,
    base,
    other,
  };
}

async function holdOnce(lab: Lab, kind: TargetKind, count: number): Promise<number> {
  const target = await lab.start(kind);
  const request = {
    response: "sse-held",
    concurrency: count,
    requests: count,
    maxSeconds: MAX_SECONDS,
  } as const;
  try {
    await lab.load(target, { ...request, kind: "open" });
    await pause(500);
    const held = readHeldBytes(target.pid);
    const finished = lab.load(target, { ...request, kind: "finish" });
    await lab.tellUpstream({ releaseHeld: { intervalMs: INTERVAL_MS } });
    await finished;
    return held;
  } finally {
    await target.stop();
  }
}

/** The number of file descriptors that a process may open. Node has raised its own limit to the maximum. */
function readFileLimit(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1024);
}
