export { createSqliteLedger, type SqliteLedger, type SqliteLedgerOptions } from "./create-sqlite-ledger.js";
