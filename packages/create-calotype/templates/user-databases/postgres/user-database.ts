/** Users and their sessions are in the same PostgreSQL, in the tables of better-auth. */
export { pool as userDatabase } from "./stores.ts";
