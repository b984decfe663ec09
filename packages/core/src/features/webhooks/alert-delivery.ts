import { createDelivery } from "../../billing/delivery.js";
import type { Chore } from "../../contract/chore.js";
import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { sha256 } from "../../util/sha256.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { NewAlertMessage, Outbox } from "../outbox/outbox.js";
import type { WebhookEndpoints } from "./endpoints.js";
import type { OutgoingMessage } from "./send.js";

/** What {@link createAlertDelivery} needs of the gateway. */
export interface AlertReceivers {
  /** `undefined` if the ledger has none. */
  readonly outbox: Outbox | undefined;
  /** The operator's function. */
  readonly onBudget: ((alert: BudgetAlert) => unknown) | undefined;
  /**
   * Returns the current endpoints, or why there are none: the options are not loaded yet, or have no webhooks. Absent if the gateway
   * was created without webhooks.
   */
  readonly endpoints: (() => WebhookEndpoints | "not loaded" | undefined) | undefined;
  readonly logger: Logger;
}

/** Delivers alerts about budgets while the gateway is in use. */
export interface AlertDelivery extends Chore {
  /** Delivers all alerts that wait. Resolves when each of them was tried. */
  readonly run: () => Promise<void>;
}

/**
 * Creates the delivery of alerts. For each endpoint of the caller a message is written, and then `onBudget` is called. If that fails, no
 * message is written twice. Without `onBudget` and endpoints, alerts stay in the ledger for 30 days.
 */
export function createAlertDelivery({ outbox, onBudget, endpoints, logger }: AlertReceivers): AlertDelivery {
  let unwatch: (() => void) | undefined;
  const hasReceiver = (onBudget ?? endpoints) !== undefined;
  const delivery = createDelivery(
    hasReceiver && outbox !== undefined
      ? {
          name: "onBudget",
          lease: async (limit, leaseMs) =>
            endpoints?.() === "not loaded" ? [] : await outbox.lease("alert", { limit, leaseMs }),
          async receive(alert) {
            const current = endpoints?.();
            if (typeof current === "object") {
              const names = (await current.find(alert.caller)).keys();
              await outbox.addMessages(alert, createAlertMessages(alert, names));
            }
            await onBudget?.(alert);
          },
          done: (alerts) => outbox.done("alert", alerts),
          onFailure: ({ id, caller }, error) =>
            logger.error(
              { alert: id, caller, err: toPlainError(error) },
              "An alert about a budget was not accepted; it is delivered again.",
            ),
          onLedgerFailure: (error) =>
            logger.error({ err: error }, "The ledger failed; alerts are delivered later."),
        }
      : undefined,
  );
  return {
    run: delivery.run,
    begin() {
      if (!delivery.isNeeded) return undefined;
      unwatch ??= outbox?.watch((kind) => {
        if (kind === "alert") void delivery.run();
      });
      return delivery.run();
    },
    async deliver() {
      unwatch?.();
      await delivery.run();
      await delivery.stop();
    },
  };
}

/** The messages about an alert for the endpoints with these names. Their ids are the same on every process. */
function createAlertMessages({ id }: BudgetAlert, endpoints: Iterable<string>): NewAlertMessage[] {
  return Array.from(endpoints, (endpoint) => ({ id: toMessageId(JSON.stringify([id, endpoint])), endpoint }));
}

/** The message about an alert. It is the same each time and at each endpoint, so that a receiver can recognize it by its id. */
export function toAlertMessage({
  id,
  caller,
  threshold,
  budget,
  settled,
  period,
  time,
}: BudgetAlert): OutgoingMessage {
  return {
    id: toMessageId(id),
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

const toMessageId = (name: string): string => `msg_${sha256(name).slice(0, ID_LENGTH)}`;
