/** Serialization failures and deadlocks; https://www.postgresql.org/docs/current/errcodes-appendix.html */
const COLLISIONS = new Set(["40P01", "40001"]);

/**
 * The server shuts down, starts, has too many connections, or is a replica since a failover; or the network failed.
 * Classes and codes of PostgreSQL, and errors of Node, `pg` and postgres.js.
 */
const LOST_CONNECTION =
  /^(?:08\w{3}|57P0[1-5]|53300|25006|ECONNRESET|ECONNREFUSED|ECONNABORTED|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|EPIPE|ENOENT|ETIMEDOUT|CONNECTION_CLOSED|CONNECTION_DESTROYED|CONNECT_TIMEOUT)$|^Connection terminated|^Client was closed|not queryable/;

/** The five-character code of PostgreSQL, or the code of Node's error; `""` for any other value. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether the same statement may succeed if it is sent again. Only use it for statements that may run twice. */
export function isTransient(error: unknown): boolean {
  return COLLISIONS.has(codeOf(error)) || isLostConnection(error);
}

/** Whether the server rejected the data of one item in a batch, so that the others may succeed without it. */
export function isRefusal(error: unknown): boolean {
  // Classes 21 to 23: data and constraints. Class 54: a limit, such as the size of a key.
  return /^(?:2[123]|54)\w{3}$/.test(codeOf(error));
}

function isLostConnection(error: unknown): boolean {
  return (
    error instanceof Error && (LOST_CONNECTION.test(codeOf(error)) || LOST_CONNECTION.test(error.message))
  );
}
