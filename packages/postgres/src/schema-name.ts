import { createHash } from "node:crypto";

/** PostgreSQL truncates longer names without an error. */
const LONGEST_NAME = 63;

/** Quotes the name of a schema for SQL. Throws if PostgreSQL would not accept it unchanged. */
export function quoteSchema(name: string): string {
  const length = Buffer.byteLength(name);
  const isNamed = length > 0 && length <= LONGEST_NAME && name.isWellFormed() && !name.includes("\0");
  // A `$` could end the body of a function.
  if (!isNamed || name.startsWith("pg_") || name.includes("$")) {
    throw new RangeError(
      `schema must be a name of 1 to ${LONGEST_NAME} bytes without "$" that does not begin with "pg_", not ${JSON.stringify(name)}`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}

/** The channel of a schema's notifications. A schema and a channel may have the same 63 bytes, so it is a hash. */
export function channelOf(schema: string): string {
  return `calotype_${createHash("sha256").update(schema).digest("hex").slice(0, 32)}`;
}
