import { formatDecimal, toDecimal } from "../billing/decimal.js";
import type { DecimalInput } from "../billing/decimal-input.js";
import type { Hold, HoldResult, Ledger } from "../billing/ledger.js";
import type { Order } from "../billing/settled-record.js";
import { GatewayError } from "../errors.js";
import type { Caller, ImageRequest } from "../image-request.js";
import type { LateWrites } from "../job/late-writes.js";
import type { Logger } from "../logger.js";
import { remember } from "../remember.js";

/** What is held for. */
export interface HoldContext {
  readonly order: Order;
  readonly caller: Caller;
  readonly request: ImageRequest;
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/**
 * Computes the hold of a request: the most that it may cost, set aside before it is sent.
 *
 * @param ttlMs the longest duration of the hold, in milliseconds
 * @param now milliseconds since 1970
 */
export function toHold({ order, caller, request }: HoldContext, ttlMs: number, now: number): Hold {
  const { id, time, group, model, operation, price } = order;
  return {
    id,
    time,
    caller: caller.id,
    group,
    model,
    operation,
    amount: price?.estimate(request).amount ?? null,
    budget: caller.budget === undefined ? undefined : toText(caller.budget),
    ttlMs,
    expiresAt: now + ttlMs,
  };
}

/** What the client is told where its budget does not cover a hold; `undefined` where it does. */
export function toQuotaError({ ok }: HoldResult): GatewayError | undefined {
  if (ok) return undefined;
  return new GatewayError(
    "insufficient_quota",
    "The budget of this API key does not cover what this request may cost.",
    { shouldRetry: false },
  );
}

interface HoldParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** What the ledger does not take now. */
  readonly lateWrites: LateWrites;
}

/** What the client is told where the ledger took no hold, or could not say so. The operator is told, too. */
export function toLedgerError(
  cause: unknown,
  parts: HoldParts,
  { order, keepAlive }: HoldContext,
): GatewayError {
  parts.logger.error({ requestId: order.id, err: cause }, "The ledger failed; the request was not sent.");
  keepAlive(releaseUnsure(parts, order.id));
  return new GatewayError(
    "gateway_unavailable",
    "This server cannot keep its books at the moment: try again. Nothing was sent or charged.",
    { retryAfterSeconds: 5, cause },
  );
}

/** The hold may have been made, and its answer lost; one that was not sent must not be charged by `onLost`. */
async function releaseUnsure({ ledger, lateWrites }: HoldParts, id: string): Promise<void> {
  try {
    await ledger.release(id);
  } catch {
    // It was told that the ledger failed. Its owner lives, so that no sweep would end the hold before its time.
    lateWrites.addUnsure(() => ledger.release(id));
  }
}

/** It was checked when its caller was found. */
function toText(budget: DecimalInput): string {
  return typeof budget === "string" ? budget : numberToText(budget);
}

const numberToText = remember((budget: number) => formatDecimal(toDecimal(budget, "budget")));
