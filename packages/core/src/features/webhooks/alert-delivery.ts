import { createDelivery, PENDING } from "../../billing/delivery.js";
import type { Chore } from "../../contract/chore.js";
import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { removeOldest } from "../../util/collections.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { Outbox } from "../outbox/outbox.js";
import { createAlertMessages } from "./alert-messages.js";
import type { WebhookEndpoints } from "./endpoints.js";

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

/** How many alerts are remembered that `onBudget` has accepted and that are not ended. Older ones are delivered twice. */
const MAX_REMEMBERED = 10_000;

/**
 * Creates the delivery of alerts: to `onBudget`, and to the endpoints of the caller, each by a message of its own. An alert is ended
 * when `onBudget` has accepted it and its messages are written. Without `onBudget` and endpoints, alerts stay in the ledger for 30 days.
 */
export function createAlertDelivery({ outbox, onBudget, endpoints, logger }: AlertReceivers): AlertDelivery {
  /** The alerts that `onBudget` has accepted, and whose messages could not be written. */
  const accepted = new Set<string>();

  /** Returns whether the messages are written. */
  async function writeMessages(alert: BudgetAlert, to: Outbox): Promise<boolean> {
    const current = endpoints?.();
    if (current === undefined || current === "not loaded") return true;
    let names: Iterable<string>;
    try {
      names = (await current.find(alert.caller)).keys();
    } catch (error) {
      logger.error(
        { alert: alert.id, caller: alert.caller, err: toPlainError(error) },
        "The webhook endpoints could not be read; the alert is sent later.",
      );
      return false;
    }
    await to.addMessages(alert, createAlertMessages(alert, names));
    return true;
  }

  /** Neither receiver waits for the other one. */
  async function receiveBoth(alert: BudgetAlert, to: Outbox): Promise<unknown> {
    const writing = writeMessages(alert, to);
    try {
      if (!accepted.has(alert.id)) await onBudget?.(alert);
    } finally {
      await writing;
    }
    accepted.add(alert.id);
    removeOldest(accepted, MAX_REMEMBERED);
    if (!(await writing)) return PENDING;
    accepted.delete(alert.id);
    return undefined;
  }

  const isNeeded = outbox !== undefined && (onBudget ?? endpoints) !== undefined;
  const delivery = createDelivery<BudgetAlert>(
    isNeeded
      ? {
          name: "onBudget",
          lease: async (limit, leaseMs) =>
            endpoints?.() === "not loaded" ? [] : await outbox.lease("alert", { limit, leaseMs }),
          receive: (alert) => (endpoints === undefined ? onBudget?.(alert) : receiveBoth(alert, outbox)),
          done: (alerts) => outbox.done("alert", alerts),
          onFailure: ({ id }, error) =>
            logger.error({ alert: id, err: error }, "onBudget failed; it is called again."),
          onLedgerFailure: (error) =>
            logger.error({ err: error }, "The ledger failed; alerts are delivered later."),
        }
      : undefined,
  );
  let unwatch: (() => void) | undefined;
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
