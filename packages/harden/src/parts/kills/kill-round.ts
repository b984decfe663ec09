import type { LostPolicy } from "@calotype/core";

/** Some kills on one ledger. The seed decides the load and the moments; when a process is hit is up to the machine. */
export interface KillRound {
  readonly ledger: "sqlite" | "postgres";
  readonly processes: 1 | 4;
  readonly onLost: LostPolicy;
  readonly seed: number;
  readonly kills: number;
}

/** What came of a round. */
export interface KillOutcome {
  /** Where the books are wrong, with details. */
  readonly problems: readonly string[];
  /** Requests that clients sent. */
  readonly requests: number;
}
