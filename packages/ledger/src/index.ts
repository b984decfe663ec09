export { type DumpOptions, writeLedgerDump } from "./write-ledger-dump.js";
