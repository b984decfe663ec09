/** A point of a measurement. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The slope of a line through points by Theil and Sen: the median of the slopes of all pairs. Single measurements that
 * are far off, such as one during a compilation, do not move it. NaN if no two points differ in x.
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
