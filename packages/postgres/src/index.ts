export {
  createPostgresLedger,
  type PostgresLedger,
  type PostgresLedgerOptions,
} from "./create-postgres-ledger.js";
export { migratePostgresLedger } from "./migrate.js";
export type { Retention } from "./months.js";
export type { PostgresClient, PostgresNotification, PostgresPool, PostgresQuery } from "./pool.js";
export type { AnyPostgresPool, PostgresJs } from "./postgres-js.js";
export { type PruneOptions, prunePostgresLedger } from "./prune-postgres-ledger.js";
