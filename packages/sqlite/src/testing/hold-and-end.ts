import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { holdOf } from "./entries.js";

/* Makes a hold and ends without closing the ledger. */
const [path = "", start = "0"] = process.argv.slice(2);
const ledger = createSqliteLedger({ path, now: () => Number(start) });
await ledger.hold(holdOf({ id: "req_1" }));
process.stdout.write("held\n");
