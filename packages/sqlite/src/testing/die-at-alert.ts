import { createGateway } from "@calotype/core";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { holdOf, recordOf } from "./entries.js";

// A gateway that is killed when it has taken an alert from the ledger and has not delivered it.

const [path = ""] = process.argv.slice(2);
const ledger = createSqliteLedger({ path });
const gateway = createGateway({
  models: { image: { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "unused" }],
  callers: [],
  ledger,
  onBudget: () => process.kill(process.pid, "SIGKILL"),
});
gateway.start();
const time = new Date().toISOString();
await ledger.hold(holdOf({ id: "req_1", time, amount: "1", budget: "2" }));
await ledger.settle(recordOf({ id: "req_1", time, charge: "1" }));
// The process must not end before the alert is taken.
setTimeout(() => process.stdout.write("The alert was not taken.\n"), 20_000);
