import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { removeOldest } from "../../util/collections.js";
import { sha256 } from "../../util/sha256.js";
import type { AlertWebhooks } from "../budgets/alert-delivery.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { MessageEndpoint, WebhookEndpoints } from "./endpoints.js";
import type { SendResult } from "./schedule.js";
import type { OutgoingMessage, SendParts } from "./send.js";

/** What {@link createAlertWebhooks} needs of the gateway. */
export interface AlertWebhooksParts extends Pick<SendParts, "transport" | "now"> {
  /** Returns the current endpoints, or why there are none: the options are not loaded yet, or have no webhooks. */
  readonly endpoints: () => WebhookEndpoints | "not loaded" | undefined;
  readonly logger: Logger;
}

/** What is known of an endpoint while alerts wait for it. */
interface AlertLine {
  /** The end of the last attempt that was asked for. */
  last: Promise<unknown>;
  /** How many attempts have failed, one after the other. */
  failures: number;
  /** No attempt begins before this time, in milliseconds since 1970. */
  nextAt: number;
}

/** The first delay after a failure. Each further failure doubles it. */
const FIRST_DELAY_MS = 30_000;
/** The longest delay, also if an endpoint asks for a longer one. */
const MAX_DELAY_MS = 3_600_000;
/** How many deliveries are remembered. Beyond this, the oldest are forgotten, and may be repeated. */
const MAX_REMEMBERED = 10_000;

/**
 * Sends alerts about budgets to the endpoints of their callers. An endpoint gets one alert at a time. While it does not accept
 * alerts, one attempt is made after 30 s, 1 min, 2 min and so on, then each hour. Other endpoints do not wait for it.
 * Alerts wait in the ledger. This process remembers which endpoints have accepted an alert that others have not.
 */
export function createAlertWebhooks(parts: AlertWebhooksParts): AlertWebhooks {
  const { logger } = parts;
  const lines = new Map<string, AlertLine>();
  const accepted = new Set<string>();

  /** Returns whether the endpoint needs no further attempt. */
  async function sendTo(
    name: string,
    endpoint: MessageEndpoint,
    alert: BudgetAlert,
    ms: number,
  ): Promise<boolean> {
    const delivery = JSON.stringify([alert.id, name]);
    if (accepted.has(delivery)) return true;
    const key = JSON.stringify([alert.caller, name]);
    const line = lines.get(key) ?? { last: Promise.resolve(), failures: 0, nextAt: 0 };
    lines.set(key, line);
    const attempt = line.last.then(async () => {
      if (parts.now() < line.nextAt) return false;
      const { sendMessage } = await import("./send.js");
      const result = await sendMessage({ ...parts, timeoutMs: ms }, endpoint, toMessage(alert));
      return note(result, line, { alert: alert.id, caller: alert.caller, endpoint: name });
    });
    const last = attempt.catch(() => undefined);
    line.last = last;
    const isAccepted = await attempt;
    if (isAccepted) remember(delivery);
    if (isAccepted && line.last === last) lines.delete(key);
    return isAccepted;
  }

  function note(result: SendResult, line: AlertLine, fields: object): boolean {
    if (result.kind === "delivered") {
      line.failures = 0;
      return true;
    }
    if (result.kind === "gone") {
      logger.error(fields, "A webhook endpoint responded with 410: the alert is given up for this endpoint.");
      return true;
    }
    const askedMs = result.kind === "failed" ? (result.retryAfterMs ?? 0) : 0;
    const delayMs = Math.min(Math.max(FIRST_DELAY_MS * 2 ** line.failures, askedMs), MAX_DELAY_MS);
    line.failures++;
    line.nextAt = parts.now() + delayMs;
    logger.warn(
      { ...fields, reason: result.error, retryAfterSeconds: Math.round(delayMs / 1000) },
      "A webhook about a budget could not be delivered; it is sent again.",
    );
    return false;
  }

  function remember(delivery: string): void {
    accepted.add(delivery);
    removeOldest(accepted, MAX_REMEMBERED);
  }

  return {
    isReady: () => parts.endpoints() !== "not loaded",
    async send(alert) {
      const endpoints = parts.endpoints();
      if (endpoints === "not loaded") return false;
      if (endpoints === undefined) return true;
      try {
        const found = await endpoints.find(alert.caller);
        const sent = Array.from(found, ([name, endpoint]) =>
          sendTo(name, endpoint, alert, endpoints.timeoutMs),
        );
        const results = await Promise.all(sent);
        if (!results.every(Boolean)) return false;
        for (const name of found.keys()) accepted.delete(JSON.stringify([alert.id, name]));
        return true;
      } catch (error) {
        logger.error(
          { alert: alert.id, caller: alert.caller, err: toPlainError(error) },
          "The webhook endpoints could not be read; the alert is sent later.",
        );
        return false;
      }
    },
  };
}

/** The message about an alert. It is the same each time, so that a receiver can recognize it by its id. */
function toMessage({ id, caller, threshold, budget, settled, period, time }: BudgetAlert): OutgoingMessage {
  return {
    id: `msg_${sha256(id).slice(0, ID_LENGTH)}`,
    body: JSON.stringify({
      type: "budget.threshold_reached",
      timestamp: time,
      data: {
        object: "budget.alert",
        caller,
        threshold,
        budget,
        settled,
        ...(period && {
          period: {
            unit: period.unit,
            time_zone: period.timeZone,
            starts_at: period.from / 1000,
            ends_at: period.to / 1000,
          },
        }),
      },
    }),
  };
}

const ID_LENGTH = 32;
