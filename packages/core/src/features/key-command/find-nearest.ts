/** Returns the known word that is most like a misspelled one. `undefined` if none is near. */
export function findNearest(word: string, known: readonly string[]): string | undefined {
  const near = known
    .map((name) => ({ name, distance: countEdits(word, name) }))
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.floor(Math.min(word.length, name.length) / 3)),
    );
  return near.toSorted((a, b) => a.distance - b.distance)[0]?.name;
}

/** How many letters are to be added, removed, replaced or swapped with the next one. */
function countEdits(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, at) => at)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= from.length; row++) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column++) {
      const cost = from[row - 1] === to[column - 1] ? 0 : 1;
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY;
      const edits = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + cost,
        swapped,
      );
      rows[row]?.push(edits);
    }
  }
  return at(from.length, to.length);
}
