import { medianOf } from "../statistics.ts";

/** A part of the gateway, on its own. */
export interface MicroBenchmark {
  readonly title: string;
  /** Bytes that one call works through, where that says more than its time. */
  readonly bytes?: number;
  readonly run: () => unknown;
}

const WARM_UP_MS = 300;
const SAMPLE_MS = 120;
const SAMPLES = 9;

/** Microseconds of one call, the median of several samples. */
export async function timeFunction(run: () => unknown): Promise<number> {
  const warmUp = await sample(run, WARM_UP_MS);
  const calls = Math.max(1, Math.round(SAMPLE_MS / warmUp));
  const times: number[] = [];
  for (let index = 0; index < SAMPLES; index++) times.push(await repeat(run, calls));
  return medianOf(times) * 1000;
}

/** Milliseconds of one call, called as often as fits into a time. */
async function sample(run: () => unknown, ms: number): Promise<number> {
  const began = performance.now();
  let calls = 0;
  while (calls === 0 || performance.now() - began < ms) {
    await run();
    calls += 1;
  }
  return (performance.now() - began) / calls;
}

async function repeat(run: () => unknown, calls: number): Promise<number> {
  const began = performance.now();
  for (let call = 0; call < calls; call++) {
    const result = run();
    // What answers at once is not charged a turn of the queue.
    if (result instanceof Promise) await result;
  }
  return (performance.now() - began) / calls;
}
