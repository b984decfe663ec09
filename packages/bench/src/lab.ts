import { setTimeout as pause } from "node:timers/promises";
import type { LoadOrder, LoadResult } from "./processes/load.ts";
import type { UpstreamOrder } from "./processes/upstream.ts";
import { type Child, startChild } from "./system/child.ts";
import { type Cores, chooseCores } from "./system/cores.ts";
import { readCpuMs, readPeakBytes, resetPeak } from "./system/process-cost.ts";
import { scriptOf } from "./system/scripts.ts";
import type { StartContext, Target, TargetKind } from "./target.ts";

/** The upstream and load processes, and the measurement of a target between them. */
export interface Lab {
  readonly cores: Cores;
  start(kind: TargetKind, options?: Partial<StartContext>): Promise<Target>;
  tellUpstream(order: UpstreamOrder): Promise<void>;
  load(target: Target, order: LoadRequest): Promise<LoadResult>;
  measure(target: Target, order: LoadRequest): Promise<Sample>;
  stop(): Promise<void>;
}

/** The load for a target. */
export type LoadRequest = Omit<LoadOrder, "origin" | "headers" | "callers"> & { readonly callers?: number };

/** The cost of one round of one target. */
export interface Sample extends LoadResult {
  /** CPU time of the target per request, in milliseconds. */
  readonly cpuMs: number;
  readonly peakBytes: number;
}

/** Time for work after the last response: records, timers, garbage collection. */
const SETTLE_MS = 60;

/** Starts the upstream and the load. */
export async function openLab(): Promise<Lab> {
  const cores = chooseCores();
  const upstream = startScript("upstream", cores.upstream);
  const port = await upstream.listening();
  const load = startScript("load", cores.load);
  const targets = new Set<Target>();
  const context = { upstream: `http://127.0.0.1:${port}`, callers: 1, channels: 1, core: cores.target };

  const ask = async ({ origin, headers }: Target, request: LoadRequest): Promise<LoadResult> => {
    const order: LoadOrder = { callers: 1, ...request, origin, headers };
    const result: LoadResult = JSON.parse(await load.ask(order));
    return result;
  };

  return {
    cores,
    async start(kind, options = {}) {
      const target = await kind.start({ ...context, ...options });
      targets.add(target);
      return target;
    },
    async tellUpstream(order) {
      await upstream.ask(order);
    },
    load: ask,
    async measure(target, order) {
      resetPeak(target.pid);
      const before = readCpuMs(target.pid);
      const result = await ask(target, order);
      await pause(SETTLE_MS);
      const cpuMs = (readCpuMs(target.pid) - before) / result.completed;
      return { ...result, cpuMs, peakBytes: readPeakBytes(target.pid) };
    },
    async stop() {
      await Promise.all([...[...targets].map((target) => target.stop()), load.stop(), upstream.stop()]);
    },
  };
}

function startScript(name: "upstream" | "load", core: number | undefined): Child {
  const script = scriptOf(`processes/${name}`);
  return startChild([process.execPath, script], { core });
}
