import type { WebhookAttempt } from "../outbox/outbox.js";

/** What became of one attempt to send a message. */
export type SendResult =
  | { readonly kind: "delivered" }
  /** The endpoint wants no further message. */
  | { readonly kind: "gone"; readonly error: string }
  /** There is no such endpoint. */
  | { readonly kind: "unknown"; readonly error: string }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** How long the endpoint asked to wait, in milliseconds. */
      readonly retryAfterMs?: number | undefined;
    };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The times between attempts. They begin like the example of Standard Webhooks, whose schedule spans three days. The last
 * attempt comes 27.6 hours after the first one, so that an endpoint may be down for a day.
 */
export const RETRY_DELAYS_MS: readonly number[] = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
];
/** A delay is up to this share longer, so that messages that failed together are not repeated together. */
export const RETRY_JITTER = 0.1;
/** The longest time that an endpoint can ask to wait. */
export const MAX_RETRY_AFTER_MS = HOUR_MS;

/**
 * Decides what follows from an attempt.
 *
 * @param attempts how often the message was sent before this attempt
 * @param random returns a number from 0 up to, not including, 1
 */
export function planNext(result: SendResult, attempts: number, random: () => number): WebhookAttempt {
  if (result.kind === "delivered") return result;
  const { error } = result;
  const delayMs = RETRY_DELAYS_MS[attempts];
  if (result.kind !== "failed" || delayMs === undefined) return { kind: "given_up", error };
  const askedMs = Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const waitMs = Math.max(delayMs, askedMs) * (1 + RETRY_JITTER * random());
  return { kind: "retry", delayMs: Math.round(waitMs), error };
}
