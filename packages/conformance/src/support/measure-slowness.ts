/** What one turn of the work takes on the machine for which the limits of time were written. */
const USUAL_MS = 20;
const VALUE = Array.from({ length: 100 }, (_, index) => ({ index, text: "x".repeat(index) }));

/** How many times slower than usual this machine is now, 1 or more. For tests that limit the time of a page or a process. */
export function measureSlowness(): number {
  const turns = Array.from({ length: 5 }, measureTurn).toSorted((a, b) => a - b);
  return Math.max(1, (turns[2] ?? 0) / USUAL_MS);
}

function measureTurn(): number {
  const startedAt = performance.now();
  for (let round = 0; round < 1_000; round++) JSON.parse(JSON.stringify(VALUE));
  return performance.now() - startedAt;
}
