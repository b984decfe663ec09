import { slopeOf } from "./slope.ts";

/** What a server holds at a moment without requests, after a garbage collection. */
export interface Sample {
  /** Requests since the start. */
  readonly requests: number;
  readonly heapBytes: number;
  /** Buffers outside of V8's heap. */
  readonly bufferBytes: number;
  readonly residentBytes: number;
  readonly sockets: number;
  readonly timers: number;
  readonly openFiles: number;
}

type Measure = Exclude<keyof Sample, "requests">;

const KIB = 1024;
const MIB = KIB * KIB;

/**
 * How much each may grow in a run: a fixed amount for compiled code, caches and pools that fill up, and an amount per
 * request that is too small for a leak. The fixed amount decides in short runs, which find large leaks only.
 */
const ALLOWED: Readonly<Record<Measure, { readonly fixed: number; readonly perRequest: number }>> = {
  heapBytes: { fixed: 8 * MIB, perRequest: 32 },
  bufferBytes: { fixed: 8 * MIB, perRequest: 16 },
  residentBytes: { fixed: 96 * MIB, perRequest: 64 },
  sockets: { fixed: 10, perRequest: 0 },
  timers: { fixed: 10, perRequest: 0 },
  openFiles: { fixed: 10, perRequest: 0 },
};

/** The share of the samples that is warm-up, and counts for nothing. */
const WARM_UP = 1 / 3;

/** What grew more than allowed, one line each. */
export function findGrowth(
  samples: readonly Sample[],
): { readonly measure: string; readonly seen: string }[] {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const requests = (warm.at(-1)?.requests ?? 0) - (warm[0]?.requests ?? 0);
  return measuresOf(ALLOWED).flatMap((measure) => {
    const slope = slopeOf(warm.map((sample) => ({ x: sample.requests, y: sample[measure] })));
    const { fixed, perRequest } = ALLOWED[measure];
    if (Number.isNaN(slope) || slope * requests <= fixed + perRequest * requests) return [];
    const series = warm.map((sample) => sample[measure]).join(", ");
    return [{ measure, seen: `${slope.toFixed(2)} per request over ${requests} requests: ${series}` }];
  });
}

function measuresOf(allowed: typeof ALLOWED): Measure[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the object above
  return Object.keys(allowed) as Measure[];
}
