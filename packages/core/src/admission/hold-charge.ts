import { formatDecimal, toDecimal } from "../billing/decimal.js";
import type { DecimalInput } from "../billing/decimal-input.js";
import type { HoldResult, Ledger } from "../billing/ledger.js";
import type { Order } from "../billing/settled-record.js";
import { GatewayError } from "../errors.js";
import type { Caller, ImageRequest } from "../image-request.js";
import type { LateWrites } from "../job/late-writes.js";
import type { Logger } from "../logger.js";
import { remember } from "../remember.js";

interface HoldParts {
  readonly ledger: Ledger;
  readonly logger: Logger;
  /** What the ledger does not take now. */
  readonly lateWrites: LateWrites;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface HoldContext {
  readonly order: Order;
  readonly caller: Caller;
  readonly request: ImageRequest;
  readonly keepAlive: (work: Promise<unknown>) => void;
}

/**
 * Sets the worst case of a request aside before anything is spent.
 *
 * @throws GatewayError `insufficient_quota` where the caller's budget does not cover it,
 * `gateway_unavailable` where the ledger cannot be reached
 */
export async function holdCharge(
  parts: HoldParts,
  { order, caller, request, keepAlive }: HoldContext,
  leaseMs: number,
): Promise<void> {
  const { id, time, group, model, operation, price } = order;
  const hold = {
    id,
    time,
    caller: caller.id,
    group,
    model,
    operation,
    amount: price?.estimate(request).amount ?? null,
    budget: caller.budget === undefined ? undefined : toText(caller.budget),
    expiresAt: parts.now() + leaseMs,
  };
  let result: HoldResult;
  try {
    result = await parts.ledger.hold(hold);
  } catch (cause) {
    parts.logger.error({ requestId: id, err: cause }, "The ledger failed; the request was not sent.");
    keepAlive(releaseUnsure(parts, id));
    throw outOfReach(cause);
  }
  if (!result.ok) {
    throw new GatewayError(
      "insufficient_quota",
      "The budget of this API key does not cover what this request may cost.",
      { shouldRetry: false },
    );
  }
}

function outOfReach(cause: unknown): GatewayError {
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
