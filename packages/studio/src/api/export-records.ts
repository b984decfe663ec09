import type { ClientSignal } from "@calotype/core/adapter";
import type { RecordQuery } from "@calotype/core/billing";
import { addDecimals, type Decimal, formatDecimal, negateDecimal, readDecimal } from "@calotype/core/stores";
import type { UsageRecord } from "../wire.js";
import type { ApiParts } from "./route.js";

/** A table of more rows is not opened by common programs. Longer exports: `exportRecords` of `@calotype/core/billing`. */
const MAX_EXPORTED = 100_000;

/** Without this mark, Excel reads the file in the encoding of the system's language, and Chinese names are not readable. */
const UTF_8_MARK = "\u{FEFF}";

const SEPARATORS = String.raw`,;\t\r\n`;
/** What may be between the beginning of a cell and its formula: spreadsheet programs drop white space and quotation marks. */
const IGNORED = String.raw`${SEPARATORS}\s\p{Cc}\p{Cf}"'`;
const FORMULA = new RegExp(`(?<![${IGNORED}])[${IGNORED}]*(?=[=+\\-@＝＋－＠])`, "gu");
const SEPARATOR = new RegExp(`[${SEPARATORS}]`);

export const EXPORT_FORMATS = {
  csv: { type: "text/csv; charset=utf-8", head: UTF_8_MARK + toLine(columnNames()), write: toCsvLine },
  jsonl: { type: "application/jsonl; charset=utf-8", head: "", write: toJsonLine },
} as const;

type Format = (typeof EXPORT_FORMATS)[keyof typeof EXPORT_FORMATS];

/** How many records are sent at once. */
const RECORDS_AT_ONCE = 500;

/**
 * Reads the first record, and then returns the lines: so a query that cannot be used is refused before the response has begun.
 * The others are read as the client reads them, at most {@link MAX_EXPORTED}.
 */
export async function openExport(
  { gateway: { usage }, logger }: Pick<ApiParts, "gateway" | "logger">,
  query: RecordQuery,
  { head, write }: Format,
  signal: ClientSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const whole = { ...query, limit: MAX_EXPORTED, cursor: undefined };
  const records = usage.list(whole, { signal })[Symbol.asyncIterator]();
  let next = await records.next();
  async function* readLines(): AsyncGenerator<Uint8Array, void, undefined> {
    const encoder = new TextEncoder();
    let text = head;
    try {
      for (let count = 1; next.done !== true; count++) {
        text += write(next.value);
        next = await records.next();
        if (count % RECORDS_AT_ONCE !== 0 || next.done === true) continue;
        yield encoder.encode(text);
        text = "";
      }
    } catch (cause) {
      if (signal.aborted) return;
      // The head of the response is sent. The host ends the connection, so the client knows that the file is not complete.
      logger.error({ err: cause }, "Records could not be exported.");
      throw cause;
    } finally {
      await records.return?.();
    }
    yield encoder.encode(text);
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
  const { channel, upstreamModel, status, errorCode, attempts, durationMs, held, cost, marks } =
    settled ?? {};
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
    cost,
    cost === undefined ? undefined : toMargin(charge, cost),
    marks?.join(" "),
    endUser,
    tags && JSON.stringify(tags),
  ]);
}

function columnNames(): readonly string[] {
  return (
    "time,id,caller,group,model,operation,state,channel,upstreamModel,status,errorCode,attempts,durationMs,images," +
    "held,charge,cost,margin,marks,endUser,tags"
  ).split(",");
}

/** `undefined` without prices. */
function toMargin(charge: string | null, cost: string): Decimal | undefined {
  return charge === null ? undefined : addDecimals(readDecimal(charge), negateDecimal(readDecimal(cost)));
}

function toLine(cells: readonly (string | number | Decimal | null | undefined)[]): string {
  return `${cells.map((cell) => toCell(cell ?? "")).join(",")}\r\n`;
}

/**
 * Spreadsheet programs run a cell as a formula that begins with one of the four signs, or with its full-width form. An apostrophe
 * before the sign makes the cell plain text. Where the comma is the decimal sign, programs split lines at semicolons, and the quotation
 * marks of a value within such a part do not count. So a sign after a separator gets an apostrophe too.
 */
function toCell(value: string | number | Decimal): string {
  if (typeof value === "number") return String(value);
  // It may begin with a minus sign, and is not a formula.
  if (typeof value === "object") return formatDecimal(value);
  const plain = value
    .replace(FORMULA, (ignored, at: number) =>
      at === 0 || SEPARATOR.test(ignored) ? `${ignored}'` : ignored,
    )
    .replace(/^(?=[\t\r\n])/, "'");
  return plain.includes('"') || SEPARATOR.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
