import { medianOf } from "../statistics.ts";

/** A part of the gateway, on its own. */
export interface MicroBenchmark {
  readonly title: string;
  /** Bytes that one call works through, where that says more than its time. */
  readonly bytes?: number;
  readonly run: () => unknown;
}

const WARM_UP_MS = 300;
const SAMPLE_MS = 100;
const SAMPLES = 9;

/**
 * CPU time of one call, the collection of its garbage included; the median of several samples. Microseconds.
 */
export async function timeFunction(run: () => unknown): Promise<number> {
  const times: number[] = [];
  await sample(run, WARM_UP_MS);
  for (let index = 0; index < SAMPLES; index++) times.push(await sample(run, SAMPLE_MS));
  return medianOf(times);
}

/** Calls it as often as fits into a time. */
async function sample(run: () => unknown, ms: number): Promise<number> {
  const began = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  // The clock is looked at after so many calls as to cost nothing beside them.
  for (let batch = 1; calls === 0 || performance.now() - began < ms; batch = Math.min(batch * 2, 64)) {
    for (let call = 0; call < batch; call++) {
      const result = run();
      // A synchronous result is not awaited, so that no microtask is measured.
      if (result instanceof Promise) await result;
    }
    calls += batch;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}
