import type { Awaitable } from "../promise-like.js";

type Write = () => Awaitable<void>;

/** Ends of holds that the ledger did not take while their clients waited, until it takes them. */
export interface LateWrites {
  /** Past a bound the oldest one is given up, and its hold left to a sweep. */
  add(write: Write): void;
  /**
   * The release of a hold that may have been made though the ledger failed. Past a bound it is not kept: where the
   * ledger stays away, it is the first ones that may have been made.
   */
  addUnsure(release: Write): void;
  /** Asks for all again, of both kinds up to the first that fails. Never rejects. */
  run(): Promise<void>;
}

/** So many records and ids are small beside what a gateway holds otherwise. */
const MOST_WAITING = 10_000;
const MOST_UNSURE = 1_000;

/** In the memory of this process: its death leaves their holds to a sweep. */
export function createLateWrites(): LateWrites {
  const waiting = new Set<Write>();
  const unsure = new Set<Write>();
  return {
    add(write) {
      const [oldest] = waiting;
      if (waiting.size >= MOST_WAITING && oldest !== undefined) waiting.delete(oldest);
      waiting.add(write);
    },
    addUnsure(release) {
      if (unsure.size < MOST_UNSURE) unsure.add(release);
    },
    async run() {
      await runAll(waiting);
      await runAll(unsure);
    },
  };
}

async function runAll(writes: Set<Write>): Promise<void> {
  for (const write of writes) {
    writes.delete(write);
    try {
      await write();
    } catch {
      // To the end: one that the ledger never takes must not be in the way of the others for ever.
      writes.add(write);
      return;
    }
  }
}
