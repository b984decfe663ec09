/**
 * Returns the cell of a caller: one of several separate deployments, each with gateways and a database of its own. Every
 * process that has the same list finds the same cell, in any order of the list (rendezvous hashing). If a list of n cells
 * gets one more, about 1/(n + 1) of the callers move, all of them to the new cell. If a cell is removed, only its callers
 * move. The result for a caller and a list never changes between versions.
 *
 * @param callerId the id of the caller
 * @param cells the names of the cells, without duplicates
 * @throws RangeError if there is no cell, or if a name occurs twice
 * @example
 * ```ts
 * import { findCell } from "@calotype/core/operator";
 *
 * const databases = { "cell-1": process.env.DATABASE_1, "cell-2": process.env.DATABASE_2 };
 * const database = databases[findCell("customer-7", ["cell-1", "cell-2"])];
 * ```
 */
export function findCell<Cell extends string>(callerId: string, cells: readonly Cell[]): Cell {
  const [first, ...others] = cells;
  if (first === undefined) throw new RangeError("cells must contain at least one name.");
  if (new Set<string>(cells).size < cells.length)
    throw new RangeError("cells must not contain a name twice.");
  let found = first;
  let highest = scoreOf(callerId, first);
  for (const cell of others) {
    const score = scoreOf(callerId, cell);
    // Equal scores are rare. The order of the list must not decide.
    if (score < highest || (score === highest && cell < found)) continue;
    found = cell;
    highest = score;
  }
  return found;
}

/** A hash of 32 bits: FNV-1a over both bytes of each UTF-16 unit, and then the last step of MurmurHash3. */
function scoreOf(callerId: string, cell: string): number {
  let hash = 0x811c_9dc5;
  // The length separates the two: "a" in "bc" differs from "ab" in "c".
  const key = `${callerId.length}:${callerId}${cell}`;
  for (let at = 0; at < key.length; at++) {
    const unit = key.charCodeAt(at);
    hash = Math.imul(hash ^ (unit & 0xff), 0x0100_0193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x0100_0193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
