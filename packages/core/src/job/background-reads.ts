import type { AbandonedStream } from "../response/relay.js";

/** Reads the rest of streams whose clients left, within bounds: the provider bills it either way. */
export interface BackgroundReads {
  /** Starts to read a stream to its end. Past the bounds it is given up instead. */
  start(stream: AbandonedStream): Promise<void>;
}

/** @param limits at most so many streams at once, each for at most so long */
export function createBackgroundReads(limits: {
  readonly streams: number;
  readonly ms: number;
}): BackgroundReads {
  let running = 0;
  return {
    async start({ readToEnd, giveUp }) {
      if (running >= limits.streams) return giveUp();
      running++;
      const { promise: givenUp, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(() => resolve(giveUp()), limits.ms);
      try {
        await Promise.race([readToEnd(), givenUp]);
      } finally {
        clearTimeout(timer);
        running--;
      }
    },
  };
}
