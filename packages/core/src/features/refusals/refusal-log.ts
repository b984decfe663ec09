import type { Logger } from "../../logger.js";
import type { Refusal } from "./refusal.js";
import { writeLine, writeRefusal } from "./write-refusal.js";

/** In one second: the lines of one cause, all lines, and the causes that are counted apart from each other. */
const MAX_LINES_OF_CAUSE = 10;
const MAX_LINES = 100;
const MAX_CAUSES = 100;
const SECOND_MS = 1_000;

/** Writes a line for each refusal. */
export interface RefusalLog {
  write(refusal: Refusal): void;
  /** Ends the second: writes how many refusals of each cause had no line of their own. */
  flush(): void;
}

interface Cause {
  readonly fields: Partial<Pick<Refusal, "status" | "code" | "caller">>;
  lines: number;
  leftOut: number;
}

/**
 * Creates the log of refusals. Requests are cheap to send, so the log has a bounded number of lines a second for the same
 * cause, and then one line that says how many were left out. A cause is a status and a code of one caller.
 *
 * @param tick milliseconds of a clock that is never set back
 */
export function createRefusalLog(logger: Logger, tick: () => number): RefusalLog {
  const causes = new Map<string, Cause>();
  let lines = 0;
  let endsAt = Number.NEGATIVE_INFINITY;

  const findCause = ({ status, code, caller }: Refusal): Cause => {
    const isFull = causes.size >= MAX_CAUSES;
    const name = JSON.stringify([status, code, caller]);
    const known = causes.get(name) ?? (isFull ? causes.get("") : undefined);
    if (known !== undefined) return known;
    const cause: Cause = { fields: isFull ? {} : { status, code, caller }, lines: 0, leftOut: 0 };
    causes.set(isFull ? "" : name, cause);
    return cause;
  };
  const flush = (): void => {
    for (const { fields, leftOut } of causes.values()) {
      if (leftOut > 0) writeLine(logger, { ...fields, requests: leftOut }, "Further requests were refused.");
    }
    causes.clear();
    lines = 0;
  };

  return {
    flush,
    write(refusal) {
      const now = tick();
      if (now >= endsAt) {
        flush();
        endsAt = now + SECOND_MS;
      }
      const cause = findCause(refusal);
      if (cause.lines >= MAX_LINES_OF_CAUSE || lines >= MAX_LINES) {
        cause.leftOut += 1;
        return;
      }
      cause.lines += 1;
      lines += 1;
      writeRefusal(logger, refusal);
    },
  };
}
