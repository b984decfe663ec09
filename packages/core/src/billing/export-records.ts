import type { RecordFilter, UsageReports } from "./ledger.js";

/**
 * A ledger's records as JSON lines, each with its newline. Read as they are asked for: a slow reader slows the
 * reading of the ledger, and the whole is never in memory.
 *
 * @example
 * ```ts
 * import { createWriteStream } from "node:fs";
 * import { Readable } from "node:stream";
 * import { pipeline } from "node:stream/promises";
 * import { createMemoryLedger, exportRecords } from "@calotype/core/billing";
 *
 * const ledger = createMemoryLedger();
 * const lines = exportRecords(ledger, { from: "2026-01-01T00:00:00Z" });
 * await pipeline(Readable.from(lines), createWriteStream("usage.jsonl"));
 * ```
 */
export async function* exportRecords(
  ledger: Pick<UsageReports, "records">,
  filter?: RecordFilter,
): AsyncGenerator<string, void, undefined> {
  for await (const record of ledger.records(filter)) yield `${toLine(record)}\n`;
}

/** JSON may hold U+2028 and U+2029 as they are, but readers such as `node:readline` end a line at them. */
function toLine(record: unknown): string {
  return JSON.stringify(record).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
