/** Longer names PostgreSQL cuts off without an error. */
const LONGEST_NAME = 63;

/** The name of a schema as it stands in SQL. Throws where PostgreSQL would not take it as it is. */
export function quoteSchema(name: string): string {
  const length = Buffer.byteLength(name);
  const isNamed = length > 0 && length <= LONGEST_NAME && name.isWellFormed() && !name.includes("\0");
  // A `$` could end the text of a function.
  if (!isNamed || name.startsWith("pg_") || name.includes("$")) {
    throw new RangeError(
      `schema must be a name of 1 to ${LONGEST_NAME} bytes without "$" that does not begin with "pg_", not ${JSON.stringify(name)}`,
    );
  }
  return `"${name.replaceAll('"', '""')}"`;
}
