/**
 * What `@calotype/ledger` needs of this package: the tables of a ledger, without a ledger. Not for other packages: it changes with
 * any version.
 *
 * @packageDocumentation
 */
export { createDatabase, type Database, type Row, type Send, type SqlQuery } from "./database.js";
export { migrate, readFormat, writeStep } from "./migrate.js";
export { MIGRATIONS } from "./migrations.js";
export { guardPool } from "./pool.js";
export { quoteSchema } from "./schema-name.js";
