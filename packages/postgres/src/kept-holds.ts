import {
  checkUpstream,
  compareAge,
  isName,
  type KeptHold,
  type Ledger,
  parseHold,
} from "@calotype/core/stores";
import { type Database, type Row, readText } from "./database.js";
import type { Owner } from "./owner.js";
import { createSteps } from "./task-statements.js";

/** What the holds need. */
export interface KeptHoldsParts {
  readonly database: Database;
  readonly schema: string;
  readonly owner: Owner;
  /** Resolves when the tables can be written to. */
  readonly ready: () => Promise<void>;
}

/** Holds whose requests another process can continue. If a call of `takeKept` fails, the next one takes the same holds. */
export function createKeptHolds({
  database,
  schema,
  owner,
  ready,
}: KeptHoldsParts): Required<Pick<Ledger, "keepUpstream" | "takeKept">> {
  const steps = createSteps();
  return {
    keepUpstream: async (id, upstream) => {
      checkUpstream(upstream);
      await ready();
      if (!isName(id)) return;
      const step = steps.next();
      await database.call(() => ({
        sql: `SELECT ${schema}.keep_hold_upstream($1, $2, $3, $4)`,
        values: [id, upstream, step, owner.id],
      }));
    },
    takeKept: async ({ limit, ttlMs }) => {
      await ready();
      const call = steps.startTake();
      const rows = await call.run(() =>
        database.call(() => ({
          sql: `SELECT k.id, k.hold, k.upstream FROM ${schema}.take_kept_holds($1, $2, $3, $4, $5, $6, $7) k`,
          values: [limit, ttlMs, call.next(), steps.unsure(), owner.id, owner.leaseMs, owner.now()],
        })),
      );
      return rows.flatMap(readKeptHold).toSorted((one, other) => compareAge(one.hold, other.hold));
    },
  };
}

function readKeptHold(row: Row): KeptHold[] {
  try {
    const hold = { ...parseHold(readText(row, "hold")), id: readText(row, "id") };
    return [{ hold, upstream: readText(row, "upstream") }];
  } catch {
    // The sweep reports a hold that cannot be read when its time is over.
    return [];
  }
}
