import type { Database } from "./database.js";

/** The kinds of entries of the outbox that are written only if a process delivers them. */
const KINDS = ["record", "alert"] as const;

/** A kind of entries that may be left out. */
type ReaderKind = (typeof KINDS)[number];

/** Says in the database what this process delivers. Entries are written while any process of the fleet delivers them. */
export interface Readers {
  /** Says whether this process delivers entries of a kind. If it has said yes once, it stays so. */
  readonly set: (kind: ReaderKind, isRead: boolean) => void;
  /** Resolves when the database knows what this process delivers. Awaited before each write, so the first one is not missed. */
  readonly register: () => Promise<void>;
  /** Says it again. */
  readonly renew: () => Promise<void>;
}

/** Creates the readers of a schema. A kind that was not set may be delivered by code of the operator, so it counts as delivered. */
export function createReaders(database: Database, schema: string): Readers {
  const settings = new Map<ReaderKind, boolean>();
  const registered = new Set<ReaderKind>();
  let registering: Promise<void> | undefined;

  const findMissing = (): ReaderKind[] =>
    KINDS.filter((kind) => settings.get(kind) !== false && !registered.has(kind));
  const write = async (kinds: readonly ReaderKind[]): Promise<void> => {
    if (kinds.length === 0) return;
    // The row changes once an hour, so that processes do not wait for each other.
    await database.run({
      sql: `INSERT INTO ${schema}.outbox_readers AS r (kind, seen_at)
          SELECT kind, clock_timestamp() FROM unnest($1::text[]) AS kind ORDER BY kind
        ON CONFLICT (kind) DO UPDATE SET seen_at = excluded.seen_at
          WHERE r.seen_at < excluded.seen_at - interval '1 hour'`,
      values: [kinds],
    });
    for (const kind of kinds) registered.add(kind);
  };
  const register = async (): Promise<void> => {
    while (findMissing().length > 0) {
      registering ??= write(findMissing()).finally(() => {
        registering = undefined;
      });
      await registering;
    }
  };
  return {
    set: (kind, isRead) => void settings.set(kind, isRead || settings.get(kind) === true),
    register,
    renew: async () => await write([...registered]),
  };
}
