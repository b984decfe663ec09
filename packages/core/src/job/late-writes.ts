type Write = () => Promise<void>;

/** Ends of holds that the ledger did not take while their clients waited, until it takes them. */
export interface LateWrites {
  /** Past a bound the oldest one is given up, and its hold left to a sweep. */
  add(write: Write): void;
  /** Asks for all again, up to the first that fails. Never rejects. */
  run(): Promise<void>;
}

/** So many records and ids are small beside what a gateway holds otherwise. */
const MOST_WAITING = 10_000;

/** In the memory of this process: its death leaves their holds to a sweep. */
export function createLateWrites(): LateWrites {
  const waiting = new Set<Write>();
  return {
    add(write) {
      const [oldest] = waiting;
      if (waiting.size >= MOST_WAITING && oldest !== undefined) waiting.delete(oldest);
      waiting.add(write);
    },
    async run() {
      for (const write of waiting) {
        waiting.delete(write);
        try {
          await write();
        } catch {
          // To the end: one that the ledger never takes must not be in the way of the others for ever.
          waiting.add(write);
          return;
        }
      }
    },
  };
}
