/** Two transactions waited for each other, or met; https://www.postgresql.org/docs/current/errcodes-appendix.html */
const COLLISIONS = new Set(["40P01", "40001"]);

/**
 * The server ends or starts, is full, or is a replica since a failover; or the network failed: classes and codes of
 * PostgreSQL, and what Node and `pg` say.
 */
const LOST_CONNECTION =
  /^(?:08\w{3}|57P0[1-5]|53300|25006|ECONNRESET|ECONNREFUSED|ECONNABORTED|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN|EPIPE|ENOENT|ETIMEDOUT)$|^Connection terminated|^Client was closed|not queryable/;

/** The five letters of PostgreSQL, or the name of Node's error; `""` of anything else. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether the same statement may succeed when it is sent again. What is sent again must bear being done twice. */
export function isTransient(error: unknown): boolean {
  return COLLISIONS.has(codeOf(error)) || isLostConnection(error);
}

/** Whether one of several things that were asked for together may be at fault, and the others not. */
export function isRefusal(error: unknown): boolean {
  // Of the classes of errors: 21 to 23, data and constraints, 54, a limit such as that of the size of a key.
  return /^(?:2[123]|54)\w{3}$/.test(codeOf(error));
}

function isLostConnection(error: unknown): boolean {
  return (
    error instanceof Error && (LOST_CONNECTION.test(codeOf(error)) || LOST_CONNECTION.test(error.message))
  );
}
