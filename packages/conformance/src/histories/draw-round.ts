import type { Random } from "../fleet-simulation/create-random.ts";
import type { Fault, Round } from "./run-round.ts";

/** What can happen to the processes of each ledger. */
const FAULTS: Readonly<Record<Round["ledger"], readonly Fault[]>> = {
  memory: [],
  sqlite: ["kill", "kill", "pause", "clock"],
  postgres: ["kill", "kill", "cut", "cut", "loss", "loss", "silence", "pause", "clock"],
};

/** A round that takes seconds. Those on PostgreSQL have the most that can go wrong, so most rounds are on it. */
export function drawRound(random: Random, hasPostgres: boolean): Round {
  const place = random();
  const ledger = place < 0.1 ? "memory" : place < 0.4 || !hasPostgres ? "sqlite" : "postgres";
  const isSpawned = ledger !== "memory";
  const faults = FAULTS[ledger].filter(() => random() < 0.5);
  return {
    ledger,
    seed: Math.floor(random() * 2 ** 31),
    onLost: random() < 0.5 ? "release" : "charge",
    processes: isSpawned ? 2 + Math.floor(random() * 2) : 1,
    isSpawned,
    clients: 2 + Math.floor(random() * 3),
    steps: isSpawned ? 150 : 400,
    faults,
  };
}
