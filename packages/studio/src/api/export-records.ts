import type { ClientSignal } from "@calotype/core/adapter";
import type { RecordPage, RecordQuery } from "@calotype/core/billing";
import type { UsageRecord } from "../wire.js";
import type { ApiParts } from "./route.js";

/** A table of more rows is not opened by common programs. Longer exports: `exportRecords` of `@calotype/core/billing`. */
const MAX_EXPORTED = 100_000;

/** Without this mark, Excel reads the file in the encoding of the system's language, and Chinese names are not readable. */
const UTF_8_MARK = "\u{FEFF}";

export const EXPORT_FORMATS = {
  csv: { type: "text/csv; charset=utf-8", head: UTF_8_MARK + toLine(columnNames()), write: toCsvLine },
  jsonl: { type: "application/jsonl; charset=utf-8", head: "", write: toJsonLine },
} as const;

type Format = (typeof EXPORT_FORMATS)[keyof typeof EXPORT_FORMATS];

/**
 * Reads the first page of records, and then returns the lines: so a query that cannot be used is refused before the response
 * has begun. The others are read as the client reads them, at most {@link MAX_EXPORTED}.
 */
export async function openExport(
  { gateway: { usage }, logger }: Pick<ApiParts, "gateway" | "logger">,
  query: RecordQuery,
  { head, write }: Format,
  signal: ClientSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const whole = { ...query, limit: 500, cursor: undefined };
  const first = await usage.page(whole, { signal });
  async function* readLines(): AsyncGenerator<Uint8Array, void, undefined> {
    const encoder = new TextEncoder();
    let page: RecordPage = first;
    let text = head;
    for (let count = page.records.length; ; count += page.records.length) {
      for (const record of page.records) text += write(record);
      yield encoder.encode(text);
      text = "";
      if (page.next === undefined || count >= MAX_EXPORTED) return;
      try {
        page = await usage.page({ ...whole, cursor: page.next }, { signal });
      } catch (cause) {
        if (signal.aborted) return;
        // The head of the response is sent. The host ends the connection, so the client knows that the file is not complete.
        logger.error({ err: cause }, "Records could not be exported.");
        throw cause;
      }
    }
  }
  return readLines();
}

/** JSON may hold U+2028 and U+2029 as they are, but readers such as `node:readline` end a line at them. */
function toJsonLine(record: UsageRecord): string {
  return `${JSON.stringify(record).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`;
}

function toCsvLine(record: UsageRecord): string {
  const settled = record.state === "settled" ? record : undefined;
  const { time, id, caller, group, model, operation, state, endUser, tags, images, charge } = record;
  const { channel, upstreamModel, status, errorCode, attempts, durationMs, held } = settled ?? {};
  return toLine([
    time,
    id,
    caller,
    group,
    model,
    operation,
    state,
    channel,
    upstreamModel,
    status,
    errorCode,
    attempts?.length,
    durationMs,
    images,
    settled === undefined && "held" in record ? record.held : held,
    charge,
    endUser,
    tags && JSON.stringify(tags),
  ]);
}

function columnNames(): readonly string[] {
  return (
    "time,id,caller,group,model,operation,state,channel,upstreamModel,status,errorCode,attempts,durationMs,images," +
    "held,charge,endUser,tags"
  ).split(",");
}

function toLine(cells: readonly (string | number | null | undefined)[]): string {
  return `${cells.map((cell) => toCell(cell ?? "")).join(",")}\r\n`;
}

/**
 * Spreadsheet programs run a cell that begins with one of these, or with its full-width form, as a formula. Some ignore
 * white space before it. An apostrophe before it makes it plain text.
 */
function toCell(value: string | number): string {
  const text =
    typeof value === "string" && /^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
