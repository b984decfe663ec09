/** The resources of a server between requests, after a garbage collection. */
export interface Sample {
  /** The number of requests since the start. */
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
 * The allowed growth in a run: a fixed amount for compiled code, caches and pools, and an amount per request that is
 * smaller than any leak. In short runs the fixed amount decides, so they find large leaks only.
 */
const ALLOWED: Readonly<Record<Measure, { readonly fixed: number; readonly perRequest: number }>> = {
  heapBytes: { fixed: 8 * MIB, perRequest: 32 },
  bufferBytes: { fixed: 8 * MIB, perRequest: 16 },
  residentBytes: { fixed: 96 * MIB, perRequest: 64 },
  sockets: { fixed: 10, perRequest: 0 },
  timers: { fixed: 10, perRequest: 0 },
  openFiles: { fixed: 10, perRequest: 0 },
};

/** The share of the samples that are warm-up and do not count. */
const WARM_UP = 1 / 3;

/** Returns the measures that grew more than allowed. */
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

/** A point of a series. */
interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The slope of a line through points by Theil and Sen: the median of the slopes of all pairs. A single outlier does not
 * change it. NaN if no two points differ in x.
 */
export function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((one, index) =>
    points
      .slice(index + 1)
      .filter((other) => other.x !== one.x)
      .map((other) => (other.y - one.y) / (other.x - one.x)),
  );
  return medianOf(slopes);
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[middle - 1 + (sorted.length % 2)], sorted[middle]];
  return (low + high) / 2;
}
