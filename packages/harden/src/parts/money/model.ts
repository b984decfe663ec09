import { toUnits } from "@calotype/conformance/ledger-suite/units";
import { type Attempt, isStream, type Served, TOKENS_PER_IMAGE } from "./provider.ts";
import { type Behaviour, type Kind, PRICES, type Scenario, type ScenarioChannel } from "./scenario.ts";

/*
 * What the caller pays for what the provider did, as simply as it can be written. Nothing here uses code or results of
 * the gateway.
 */

/** The charge for a send, in units of `ledger-suite/units`. */
export function chargeOf({ request, attempts }: Served, { pricing, callers }: Scenario): bigint {
  const caller = callers.find(({ id }) => id === request.caller);
  const ratio = caller?.group === "partner" ? PRICES.partnerRatio : "1";
  const isPerToken = pricing === "per-token" && request.kind !== "qwen";
  const count = isPerToken ? tokensOf : imagesOf;
  const total = attempts.reduce((sum, { behaviour }) => sum + count(request.kind, behaviour), 0);
  const unit = isPerToken ? toUnits(PRICES.millionTokens) / 1_000_000n : toUnits(PRICES.image);
  return (unit * BigInt(total) * toUnits(ratio)) / toUnits("1");
}

/** Images to charge per request, after decisions 31 and 33. */
function imagesOf(kind: Kind, behaviour: Behaviour): number {
  if (behaviour.does === "stops") return isStream(kind) ? behaviour.sent : 0;
  if (behaviour.does !== "makes") return 0;
  if (behaviour.report === "full") return behaviour.images;
  return isStream(kind) && behaviour.report === "no completed event" ? behaviour.images : 1;
}

/** Tokens to charge, after decisions 32 and 33. Without a report, only the images of a stream have known tokens. */
function tokensOf(kind: Kind, behaviour: Behaviour): number {
  const hasNoReport = behaviour.does === "makes" && behaviour.report !== "full";
  const isCounted = !hasNoReport || (isStream(kind) && behaviour.report === "no completed event");
  return isCounted ? imagesOf(kind, behaviour) * TOKENS_PER_IMAGE : 0;
}

/** Whether the gateway may try another key or channel after this attempt, after decision 27. */
export function maySendAfter(attempt: Attempt, kind: Kind, channels: readonly ScenarioChannel[]): boolean {
  const { behaviour } = attempt;
  if (isNothingMade(behaviour)) return behaviour.does !== "refuses" || behaviour.status !== 400;
  const channel = channels.find(({ id }) => id === attempt.channel);
  if (channel?.retryUnsafe !== true || behaviour.does === "makes") return false;
  return behaviour.does !== "stops" || !isStream(kind);
}

/** Whether the behaviour shows that the provider made nothing. */
export function isNothingMade(behaviour: Behaviour): boolean {
  switch (behaviour.does) {
    case "unreachable":
    case "refuses with 200":
      return true;
    case "refuses":
      return behaviour.status !== 500;
    case "makes":
    case "stops":
    case "breaks":
    case "stalls":
      return false;
  }
}
