/**
 * What `@calotype/ledger` needs of this package: the tables of a ledger, without a ledger. Not for other packages: it changes with
 * any version.
 *
 * @packageDocumentation
 */
export { addDecimalFunctions } from "./hourly-totals.js";
export { MIGRATIONS, writeFormat } from "./migrations.js";
export { openDatabase } from "./open-database.js";
export { retryWhileBusy } from "./write-queue.js";
