/** What Redis is to be told once it is back. */
export interface OwedWrites {
  /** Later writes of one name replace earlier ones. `bytes` is the memory that it keeps. */
  owe(name: string, write: () => Promise<void>, bytes?: number): void;
  has(name: string): boolean;
  /** The write of this name is not owed any more, if it was. */
  forget(name: string): void;
  /** Makes all of them, in their order, a number at a time. */
  deliver(): Promise<void>;
  /** Writes that were forgotten since the last time this was asked, for there were too many. */
  takeDropped(): number;
}

export interface OwedWritesOptions {
  /** Past so many the oldest are forgotten. */
  readonly maxWrites: number;
  /** The same for the memory they keep. */
  readonly maxBytes: number;
  /** Told of one that failed. Must not throw. */
  readonly onFailure: (error: unknown) => void;
}

interface Entry {
  readonly write: () => Promise<void>;
  readonly bytes: number;
}

const AT_ONCE = 64;

export function createOwedWrites(options: OwedWritesOptions): OwedWrites {
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
    owe(name, write, size = 0) {
      take(name);
      entries.set(name, { write, bytes: size });
      bytes += size;
      dropOldest();
    },
    has: (name) => entries.has(name),
    forget: (name) => void take(name),
    async deliver() {
      const names = [...entries.keys()];
      for (let index = 0; index < names.length; index += AT_ONCE) {
        await Promise.all(names.slice(index, index + AT_ONCE).map(make));
      }
    },
    takeDropped() {
      const count = dropped;
      dropped = 0;
      return count;
    },
  };
}
