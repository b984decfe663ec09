import { createHash } from "node:crypto";
import type { Fleet } from "./create-fleet.ts";

/** The same for runs in which everything was the same: each call, decision, balance and answer, its time and its text. */
export function digestRun({ calls, decisions, balances, answers }: Fleet): string {
  return createHash("sha256").update(JSON.stringify({ calls, decisions, balances, answers })).digest("hex");
}
