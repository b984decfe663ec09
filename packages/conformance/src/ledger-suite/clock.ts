/** A clock that only a test moves. */
export interface Clock {
  readonly now: () => number;
  advance(milliseconds: number): void;
}

/** When the clock of every test begins. */
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

/** The ISO 8601 text of a time so many milliseconds after the start. */
export const timeAfterStart = (milliseconds: number): string => new Date(START + milliseconds).toISOString();
