import { GatewayError, isGatewayError } from "@calotype/core";
import type { ClientSignal } from "@calotype/core/adapter";
import {
  createRepricer,
  type PriceTables,
  type RepricedSums,
  type RepricedUsage,
  type UsageRecord,
} from "@calotype/core/billing";
import { addDecimals, formatDecimal, negateDecimal, readDecimal } from "@calotype/core/stores";
import type { RepriceLine, RepriceResult } from "../wire.js";
import type { ApiParts } from "./route.js";

/** How many records are read at once. More of them: `repriceRecords` of `@calotype/core/billing`. */
const MAX_RECORDS = 100_000;
/** After this number of records, the page gets its progress and other requests get their turn: about 5 ms. */
const RECORDS_PER_TURN = 500;
/** How many models and callers the result lists. */
const MAX_LINES = 100;

/** A period, ISO 8601. */
interface Range {
  readonly from: string;
  readonly to: string;
}

/** @throws GatewayError that names the wrong field */
export function readRange(from: unknown, to: unknown): Range {
  const [start, end] = [readTime(from, "from"), readTime(to, "to")];
  if (start >= end) throw invalid("to must be later than from.", "to");
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() };
}

/**
 * Reads the records of the period as the client reads the lines, and says how far it is. If the client leaves, the reading
 * stops. Nothing is written.
 */
export async function* repriceAsLines(
  { gateway, logger }: Pick<ApiParts, "gateway" | "logger">,
  asked: { readonly range: Range; readonly tables: PriceTables; readonly signal: ClientSignal },
): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  const toLine = (line: RepriceLine): Uint8Array => encoder.encode(`${JSON.stringify(line)}\n`);
  const { range, tables, signal } = asked;
  try {
    const repricer = createRepricer(tables);
    let count = 0;
    for await (const record of gateway.usage.records(range, { signal })) {
      if (count === MAX_RECORDS) {
        yield toLine({ kind: "result", result: toResult(repricer.sum(), record) });
        return;
      }
      repricer.add(record);
      count += 1;
      if (count % RECORDS_PER_TURN !== 0) continue;
      yield toLine({ kind: "progress", records: count, until: record.time });
      await giveWay();
      if (signal.aborted) return;
    }
    yield toLine({ kind: "result", result: toResult(repricer.sum(), undefined) });
  } catch (cause) {
    if (signal.aborted) return;
    // The head of the response is sent, so the error is its last line.
    yield toLine({ kind: "error", error: toError(cause, logger) });
  }
}

/** Lets other requests have their turn. A promise alone would not. */
function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** @param next the first record that was not counted */
function toResult(usage: RepricedUsage, next: UsageRecord | undefined): RepriceResult {
  return {
    ...withChange(usage),
    models: takeLargest(usage.models.map(withChange)),
    callers: takeLargest(usage.callers.map(withChange)),
    modelCount: usage.models.length,
    callerCount: usage.callers.length,
    ...(next !== undefined && { cutAt: next.time }),
  };
}

function withChange<T extends RepricedSums>(sums: T): T & { readonly change: string } {
  const { charge, newCharge } = sums;
  return {
    ...sums,
    change: formatDecimal(addDecimals(readDecimal(newCharge), negateDecimal(readDecimal(charge)))),
  };
}

/** Those whose charges change the most. Only for the order: the sums are exact decimals. */
function takeLargest<T extends { readonly change: string }>(lines: readonly T[]): readonly T[] {
  return lines
    .map((line) => ({ line, size: Math.abs(Number(line.change)) }))
    .toSorted((one, other) => other.size - one.size)
    .slice(0, MAX_LINES)
    .map(({ line }) => line);
}

function toError(cause: unknown, logger: ApiParts["logger"]): { code: string; message: string } {
  if (isGatewayError(cause)) return { code: cause.code, message: cause.message };
  logger.error({ err: cause }, "Records could not be repriced.");
  return { code: "internal_error", message: "The records cannot be read. The log of the server says why." };
}

const A_TIME = "must be a time with a zone, such as 2026-01-31T00:00:00Z.";

function readTime(value: unknown, param: string): number {
  const isTime =
    typeof value === "string" && /^\d{4}-\d{2}-\d{2}T[\d:.]{5,12}(?:Z|[+-]\d{2}:\d{2})$/.test(value);
  const time = isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw invalid(`${param} ${A_TIME}`, param);
  return time;
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
