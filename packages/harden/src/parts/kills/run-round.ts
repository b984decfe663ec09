import { POSTGRES, REDIS } from "@calotype/conformance/support/service";
import { findService } from "../../services.ts";
import { killInFleet } from "./kill-in-fleet.ts";
import { killOnSqlite } from "./kill-on-sqlite.ts";
import type { KillOutcome, KillRound } from "./kill-round.ts";

type Kind = readonly [KillRound["ledger"], KillRound["processes"]];

/** The available ledgers, with the numbers of processes that use them. */
export async function findKinds(): Promise<readonly Kind[]> {
  const hasFleet = (await findService(REDIS)) !== undefined && (await findService(POSTGRES)) !== undefined;
  const fleets: readonly Kind[] = [
    ["postgres", 1],
    ["postgres", 4],
  ];
  return [["sqlite", 1], ["sqlite", 4], ...(hasFleet ? fleets : [])];
}

/** Runs the kills of a round and checks the ledger. */
export function runRound(round: KillRound): Promise<KillOutcome> {
  return round.ledger === "sqlite" ? killOnSqlite(round) : killInFleet(round);
}
