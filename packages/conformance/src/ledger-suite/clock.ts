/** A clock that only the test moves. */
export interface Clock {
  readonly now: () => number;
  advance(milliseconds: number): void;
}

/** The start of the clock in every test. */
export const START = Date.parse("2026-01-31T12:00:00.000Z");

export function createClock(): Clock {
  let time = START;
  return {
    now: () => time,
    advance(milliseconds) {
      time += milliseconds;
    },
  };
}

/** The time this number of milliseconds after the start, in ISO 8601. */
export const timeAfterStart = (milliseconds: number): string => new Date(START + milliseconds).toISOString();
