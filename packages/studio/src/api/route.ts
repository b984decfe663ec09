import { type Caller, type Gateway, GatewayError, type Logger } from "@calotype/core";
import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import type { Role, Session } from "../wire.js";

/** The parts of a gateway that the studio uses. All of them are public. */
export type StudioGateway = Pick<
  Gateway,
  | "basePath"
  | "handle"
  | "notFound"
  | "status"
  | "checkStatus"
  | "listChannels"
  | "probeChannel"
  | "estimateProbe"
  | "pauseChannel"
  | "resumeChannel"
  | "estimate"
  | "prices"
  | "checkPrices"
  | "usage"
  | "refusals"
  | "budgets"
  | "limits"
  | "callers"
  | "tasks"
  | "webhooks"
> &
  // A composed gateway may have no results and no alerts.
  Partial<Pick<Gateway, "openImage" | "alerts">>;

/** Does something whose fields the gateway checks: one that cannot be used is a RangeError there. */
export function explainFields<T>(work: () => Promise<T>): Promise<T> {
  return explain(work, (cause) => cause instanceof RangeError);
}

/** Does something that not every ledger can do, which says so with a TypeError. Its fields are checked too. */
export function explainMissing<T>(work: () => Promise<T>): Promise<T> {
  return explain(work, (cause) => cause instanceof RangeError || cause instanceof TypeError);
}

async function explain<T>(work: () => Promise<T>, isExplained: (cause: unknown) => boolean): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof Error) || !isExplained(cause)) throw cause;
    throw new GatewayError("invalid_request_error", cause.message, { cause });
  }
}

/** What the routes of the API need. */
export interface ApiParts {
  readonly gateway: StudioGateway;
  /** Who pays in Try without a key. */
  readonly caller: string | Caller | undefined;
  /** The currency of the prices, or of those of each model. */
  readonly currency?: Session["currency"] | undefined;
  readonly logger: Logger;
}

/** One request to the API, whose sender may send it. */
export interface ApiCall {
  readonly request: GatewayRequest;
  readonly role: Role;
  readonly access: "authorize" | "local";
  /** The values of the parts of the path that begin with a colon, decoded. */
  readonly values: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

/** A route of the API. */
export interface ApiRoute {
  readonly method: "GET" | "POST" | "PATCH";
  /** Such as `callers/:id/rotate`. */
  readonly path: string;
  /** Who may use it. */
  readonly role: Role;
  readonly run: (parts: ApiParts, call: ApiCall) => Promise<GatewayResponse>;
}
