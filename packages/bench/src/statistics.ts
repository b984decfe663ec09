/** The value at this quantile of the samples. Between two samples, the lower one. */
export function percentileOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1));
  return sorted[index] ?? Number.NaN;
}

/** The median. For an even number of values, the mean of the two in the middle. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return low === undefined || high === undefined ? Number.NaN : (low + high) / 2;
}

/** The median of the ratios of pairs, because what slows down a whole round affects both sides. */
export function medianRatioOf(values: readonly number[], others: readonly number[]): number {
  return medianOf(values.map((value, index) => value / (others[index] ?? Number.NaN)));
}
