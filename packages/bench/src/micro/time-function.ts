import { medianOf } from "../statistics.ts";

/** A separately measured part of the gateway. */
export interface MicroBenchmark {
  readonly title: string;
  /** The bytes that one call processes, if the throughput is of interest. */
  readonly bytes?: number;
  readonly run: () => unknown;
}

const WARM_UP_MS = 300;
const SAMPLE_MS = 100;
const SAMPLES = 9;

/** CPU time of one call in microseconds, including garbage collection: the median of several samples. */
export async function timeFunction(run: () => unknown): Promise<number> {
  const times: number[] = [];
  await sample(run, WARM_UP_MS);
  for (let index = 0; index < SAMPLES; index++) times.push(await sample(run, SAMPLE_MS));
  return medianOf(times);
}

/** Calls the function for a given time, as often as possible. */
async function sample(run: () => unknown, ms: number): Promise<number> {
  const began = performance.now();
  const before = process.cpuUsage();
  let calls = 0;
  // The clock is read only after a batch of calls, so that its cost does not matter.
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
