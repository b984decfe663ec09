import { createHash } from "node:crypto";
import type { SimulatedFleet } from "./create-fleet.ts";

/**
 * A hash of a run: of each call, decision, balance and response, with times and texts. Equal runs have equal
 * hashes.
 */
export function digestRun({ calls, decisions, balances, responses }: SimulatedFleet): string {
  return createHash("sha256").update(JSON.stringify({ calls, decisions, balances, responses })).digest("hex");
}
