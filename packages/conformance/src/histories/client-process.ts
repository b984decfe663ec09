import { openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { LostPolicy } from "@calotype/core/stores";
import type { ClientPlan } from "./draw-operation.ts";
import { openLedger, type StoreAddress } from "./open-store.ts";
import { type Line, runClient } from "./run-client.ts";

/*
 * A process whose clients use a ledger until they have taken all steps, or it is killed. It appends a line to a file before and after each
 * call. A number on its standard input moves its clock by so many milliseconds.
 */

/** What the process does, as JSON in its first argument. */
export interface ProcessPlan {
  readonly place: StoreAddress;
  readonly process: string;
  /** The path of the file. */
  readonly file: string;
  readonly onLost: LostPolicy;
  readonly clients: readonly ClientPlan[];
  readonly from: number;
  readonly to: number;
}

const [argument = ""] = process.argv.slice(2);
const plan: ProcessPlan = JSON.parse(argument);

let movedMs = 0;
const readTime = Date.now;
Date.now = () => readTime() + movedMs;
createInterface({ input: process.stdin }).on("line", (line) => {
  movedMs += Number(line);
});

const file = openSync(plan.file, "a");
const { ledger } = openLedger(plan.place);
const recorder = {
  ledger,
  process: plan.process,
  onLost: plan.onLost,
  note: (line: Line) => void writeSync(file, `${JSON.stringify(line)}\n`),
};
await Promise.all(plan.clients.map((client) => runClient(recorder, client, plan)));
// The ledger is not closed: its open holds are lost when the lease ends.
process.exit(0);
