import type { LostPolicy } from "@calotype/core";

/** Some kills on one ledger. The seed decides the load and the times, but not what a server does when it is killed. */
export interface KillRound {
  readonly ledger: "sqlite" | "postgres";
  readonly processes: 1 | 4;
  readonly onLost: LostPolicy;
  readonly seed: number;
  readonly kills: number;
}

/** The result of a round. */
export interface KillOutcome {
  /** Wrong entries of the ledger, with details. */
  readonly problems: readonly string[];
  /** The number of requests. */
  readonly requests: number;
}
