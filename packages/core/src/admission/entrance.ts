import { GatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import type { ByteBudget, TakenBytes } from "./byte-budget.js";
import { createCrowdedError } from "./limit-errors.js";
import type { LocalConcurrency } from "./local-concurrency.js";

/** What is checked in this process before a body is read: what is held, and how much the caller has running. */
export interface Entrance {
  /**
   * @param caller `concurrent`: how many of its requests may run at once; none: any number
   * @throws GatewayError `overloaded` or `rate_limit_exceeded`
   */
  enter(
    request: GatewayRequest,
    caller: { readonly id: string; readonly concurrent?: number | null | undefined },
  ): Visit;
}

/** One request that was let in. */
export interface Visit {
  /** The request, with a body whose bytes are counted. */
  readonly request: GatewayRequest;
  /** The bytes that are held for it. */
  readonly bytes: TakenBytes;
  /** Gives its place and its bytes back. */
  leave(): void;
}

/** An entrance that nobody has passed. */
export function createEntrance(budget: ByteBudget, concurrency: LocalConcurrency): Entrance {
  return {
    enter(request, { id, concurrent }) {
      const leavePlace = concurrency.enter(id, concurrent ?? Infinity);
      if (leavePlace === undefined) throw crowded(concurrent ?? 0);
      const length = request.headers.get("content-length");
      const bytes = budget.take(toCount(length));
      if (bytes === undefined) {
        leavePlace();
        throw overloaded();
      }
      return {
        request: length === null ? countBody(request, bytes) : request,
        bytes,
        leave() {
          leavePlace();
          bytes.giveBack();
        },
      };
    },
  };
}

function toCount(header: string | null): number {
  const length = Number(header ?? 0);
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/** A body that does not say how long it is counts as it comes. */
function countBody(request: GatewayRequest, bytes: TakenBytes): GatewayRequest {
  const { method, url, headers, body, parsedBody, bodyConsumed, signal, waitUntil } = request;
  if (body === null) return request;
  return {
    method,
    url,
    headers,
    body: countChunks(body, bytes),
    parsedBody,
    bodyConsumed: bodyConsumed === true,
    signal,
    waitUntil,
  };
}

async function* countChunks(body: AsyncIterable<Uint8Array>, bytes: TakenBytes): AsyncIterable<Uint8Array> {
  for await (const chunk of body) {
    if (!bytes.add(chunk.length)) throw overloaded();
    yield chunk;
  }
}

function overloaded(): GatewayError {
  return new GatewayError(
    "overloaded",
    "This server holds as many bytes of requests as it may: try again soon.",
    { retryAfterSeconds: 1 },
  );
}

function crowded(limit: number): GatewayError {
  const place = { key: "concurrent", limit, leaseMs: 0 };
  return createCrowdedError({ windows: [], concurrency: [place] }, place, []);
}
