import type { Pool } from "pg";

/** The tables that reports of an app read. */
const TABLES = [
  "balances",
  "period_balances",
  "records",
  "hourly_totals",
  "holds",
  "tasks",
  "callers",
  "refusals",
] as const;

/** What only the ledger uses. */
const INTERNAL = new Set([
  "alerted",
  "expires_at",
  "fingerprint",
  "input",
  "is_waiting",
  "keep",
  "owner",
  "remove_at",
  "repeat_key",
  "share_bytes",
  "step",
  "turn",
  "upstream",
  "upstream_step",
]);

interface Column {
  readonly name: string;
  readonly type: keyof typeof TYPES;
  readonly isNullable: boolean;
}

interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly primaryKey: readonly string[];
}

interface ColumnType {
  readonly drizzle: string;
  readonly prisma: string;
  readonly attribute?: string;
}

/** The types of columns, for Drizzle and for Prisma. */
const TYPES = {
  text: { drizzle: "text()", prisma: "String" },
  _text: { drizzle: "text().array()", prisma: "String[]" },
  bool: { drizzle: "boolean()", prisma: "Boolean" },
  int2: { drizzle: "smallint()", prisma: "Int", attribute: " @db.SmallInt" },
  int4: { drizzle: "integer()", prisma: "Int" },
  int8: { drizzle: 'bigint({ mode: "bigint" })', prisma: "BigInt" },
  json: { drizzle: "json()", prisma: "Json", attribute: " @db.Json" },
  numeric: { drizzle: "numeric()", prisma: "Decimal" },
  timestamptz: {
    drizzle: "timestamp({ withTimezone: true })",
    prisma: "DateTime",
    attribute: " @db.Timestamptz(6)",
  },
  uuid: { drizzle: "uuid()", prisma: "String", attribute: " @db.Uuid" },
} as const satisfies Record<string, ColumnType>;

/** Reads the tables of a ledger that has migrated. */
export async function readTables(pool: Pool, schema: string): Promise<readonly Table[]> {
  return await Promise.all(
    TABLES.map(async (name) => {
      const columns = await pool.query<{ name: string; type: Column["type"]; nullable: string }>(
        `SELECT column_name AS name, udt_name AS type, is_nullable AS nullable FROM information_schema.columns
         WHERE table_schema = $1 AND table_name = $2 ORDER BY ordinal_position`,
        [schema, name],
      );
      const key = await pool.query<{ name: string }>(
        `SELECT a.attname AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[:i.indnkeyatts - 1])
           JOIN pg_class c ON c.oid = i.indrelid
         WHERE c.oid = format('%I.%I', $1::text, $2::text)::regclass AND (i.indisprimary OR (c.relkind = 'p' AND i.indisunique)) ORDER BY array_position(i.indkey, a.attnum)`,
        [schema, name],
      );
      const shown = columns.rows.filter((column) => !INTERNAL.has(column.name));
      return {
        name,
        columns: shown.map(({ name: column, type, nullable }) => ({
          name: column,
          type,
          isNullable: nullable === "YES",
        })),
        primaryKey: key.rows.map((row) => row.name),
      };
    }),
  );
}

const NOTE = `The tables of @calotype/postgres that reports read, without columns that only the ledger uses. Generated from the
migrations. Copy this file into your app, and read with it: only the ledger may write. If your ledger has another schema, change
the name "calotype".`;

export function writeDrizzleSchema(tables: readonly Table[]): string {
  const used = [...new Set(tables.flatMap(({ columns }) => columns.map(({ type }) => TYPES[type].drizzle)))];
  const names = [...new Set(used.map((call) => /^\w+/.exec(call)?.[0] ?? "")), "pgSchema", "primaryKey"];
  const tableOf = ({ name, columns, primaryKey }: Table): string => {
    const key = primaryKey.map((column) => `table.${toCamelCase(column)}`).join(", ");
    return `export const ${toCamelCase(name)} = calotype.table(\n  "${name}",\n  {\n${columns.map(toDrizzleColumn).join("")}  },\n  (table) => [primaryKey({ columns: [${key}] })],\n);\n`;
  };
  return [
    `/*\n${NOTE.replaceAll(/^/gm, " * ")}\n */\n`,
    `import { ${names.toSorted().join(", ")} } from "drizzle-orm/pg-core";\n\n`,
    `const calotype = pgSchema("calotype");\n\n`,
    tables.map(tableOf).join("\n"),
  ].join("");
}

export function writePrismaSchema(tables: readonly Table[]): string {
  const tableOf = ({ name, columns, primaryKey }: Table): string => {
    const model = toCamelCase(`_${name}`);
    const key = primaryKey.map(toCamelCase).join(", ");
    return `model ${model} {\n${columns.map(toPrismaColumn).join("")}\n  @@id([${key}])\n  @@map("${name}")\n  @@schema("calotype")\n}\n`;
  };
  return [
    `${NOTE.replaceAll(/^/gm, "// ")}\n\n`,
    `datasource db {\n  provider = "postgresql"\n  schemas  = ["calotype"]\n}\n\n`,
    tables.map(tableOf).join("\n"),
  ].join("");
}

function toDrizzleColumn({ name, type, isNullable }: Column): string {
  const [call = "", rest = ""] = TYPES[type].drizzle.split(/(?<=^\w+\()/);
  const first = rest.startsWith(")") ? `"${name}"` : `"${name}", `;
  return `    ${toCamelCase(name)}: ${call}${first}${rest}${isNullable ? "" : ".notNull()"},\n`;
}

function toPrismaColumn({ name, type, isNullable }: Column): string {
  const { prisma, attribute = "" }: ColumnType = TYPES[type];
  const field = toCamelCase(name);
  const map = field === name ? "" : ` @map("${name}")`;
  return `  ${field} ${prisma}${isNullable ? "?" : ""}${map}${attribute}\n`;
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
