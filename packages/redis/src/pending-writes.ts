/** Writes that Redis gets when it is back. */
export interface PendingWrites {
  /** Adds a write. It replaces an earlier write with the same name. @param bytes the memory that the write needs */
  add(name: string, write: () => Promise<void>, bytes?: number): void;
  has(name: string): boolean;
  delete(name: string): void;
  /** Makes all writes in their order, several at a time. */
  deliver(): Promise<void>;
  /** Returns the number of writes that were dropped since the last call because there were too many. */
  takeDropped(): number;
}

export interface PendingWritesOptions {
  /** Above this number the oldest writes are dropped. */
  readonly maxWrites: number;
  /** Above this memory the oldest writes are dropped. */
  readonly maxBytes: number;
  /** Called with the error of a write that failed. Must not throw. */
  readonly onFailure: (error: unknown) => void;
}

interface Entry {
  readonly write: () => Promise<void>;
  readonly bytes: number;
}

const CONCURRENT_WRITES = 64;

export function createPendingWrites(options: PendingWritesOptions): PendingWrites {
  const { maxWrites, maxBytes, onFailure } = options;
  const entries = new Map<string, Entry>();
  let bytes = 0;
  let dropped = 0;

  const take = (name: string): Entry | undefined => {
    const entry = entries.get(name);
    bytes -= entry?.bytes ?? 0;
    entries.delete(name);
    return entry;
  };
  const dropOldest = (): void => {
    for (const oldest of entries.keys()) {
      if (entries.size <= maxWrites && bytes <= maxBytes) return;
      take(oldest);
      dropped++;
    }
  };
  const make = async (name: string): Promise<void> => {
    const entry = take(name);
    if (entry === undefined) return;
    try {
      await entry.write();
    } catch (error) {
      onFailure(error);
    }
  };

  return {
    add(name, write, size = 0) {
      take(name);
      entries.set(name, { write, bytes: size });
      bytes += size;
      dropOldest();
    },
    has: (name) => entries.has(name),
    delete: (name) => void take(name),
    async deliver() {
      const names = [...entries.keys()];
      for (let index = 0; index < names.length; index += CONCURRENT_WRITES) {
        await Promise.all(names.slice(index, index + CONCURRENT_WRITES).map(make));
      }
    },
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
  };
}
