import {
  type Hold,
  type LostPolicy,
  toInstant,
  toUnresolvedRecord,
  type UnresolvedRecord,
} from "@calotype/core/billing";
import { toClock } from "./clock.js";
import type { Database } from "./database.js";
import type { Owner } from "./owner.js";
import { isRefusal } from "./postgres-error.js";
import { readText } from "./read-column.js";

/** Bounds one transaction. */
const BATCH = 500;

/** What a sweep is told. */
export interface SweepOptions {
  readonly onLost: LostPolicy;
  readonly own?: boolean;
}

interface LostHold {
  readonly text: string;
  readonly record: UnresolvedRecord;
}

interface EndedHolds {
  readonly records: readonly UnresolvedRecord[];
  readonly failures: readonly unknown[];
}

/**
 * Ends the lost holds of a schema. They are looked for without a lock, then ended by name: of many processes that
 * found the same ones, one ends each.
 */
export function createSweep(
  database: Database,
  { schema, owner }: { schema: string; owner: Owner },
): (options: SweepOptions) => Promise<UnresolvedRecord[]> {
  const findLost = async ({ onLost, own = false }: SweepOptions): Promise<LostHold[]> => {
    const rows = await database.run({
      sql: `SELECT h.hold::text AS hold FROM ${schema}.holds h
        WHERE h.expires_at <= ${toClock("$1")} OR (h.owner = $2 AND $3::boolean)
          OR (h.owner <> $2 AND NOT EXISTS (
            SELECT FROM ${schema}.owners o WHERE o.id = h.owner AND o.alive_until > ${toClock("$1")}))
        ORDER BY h.hold ->> 'time' COLLATE "C", h.id LIMIT ${BATCH}`,
      values: [owner.now(), owner.id, own],
    });
    return rows.map((row) => {
      const text = readText(row, "hold");
      return { text, record: toUnresolvedRecord(toHold(text), onLost) };
    });
  };
  const endLost = async (lost: readonly LostHold[]): Promise<UnresolvedRecord[]> => {
    const records = lost.map(({ record }) => record);
    const rows = await database.run({
      sql: `SELECT ended FROM ${schema}.end_lost($1, $2, $3, $4, $5, $6, $7) AS ended`,
      values: [
        records.map(({ id }) => id),
        lost.map(({ text }) => text),
        records.map(({ time }) => toInstant(time, "time")),
        records.map(({ caller }) => caller),
        records.map(({ model }) => model),
        records.map(({ charge }) => charge),
        records.map((record) => JSON.stringify(record)),
      ],
    });
    const ended = new Set(rows.map((row) => readText(row, "ended")));
    return records.filter(({ id }) => ended.has(id));
  };
  /** All that can be ended; of those that the server refuses, as a name too long for a record's index, each fails alone. */
  const endEach = async (lost: readonly LostHold[]): Promise<EndedHolds> => {
    try {
      return { records: await endLost(lost), failures: [] };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (lost.length === 1) return { records: [], failures: [error] };
      const middle = Math.ceil(lost.length / 2);
      const [first, second] = [await endEach(lost.slice(0, middle)), await endEach(lost.slice(middle))];
      return {
        records: [...first.records, ...second.records],
        failures: [...first.failures, ...second.failures],
      };
    }
  };
  const forgetDead = async (): Promise<void> => {
    await database.run({
      sql: `DELETE FROM ${schema}.owners WHERE alive_until <= ${toClock("$1")} AND id <> $2`,
      values: [owner.now(), owner.id],
    });
  };

  return async (options) => {
    const swept: UnresolvedRecord[] = [];
    for (;;) {
      const lost = await findLost(options);
      if (lost.length === 0) break;
      const { records, failures } = await endEach(lost);
      swept.push(...records);
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} lost holds cannot be ended.`);
      if (lost.length < BATCH) break;
    }
    await forgetDead();
    return swept;
  };
}

function toHold(text: string): Hold {
  const hold: Hold = JSON.parse(text);
  return hold;
}
