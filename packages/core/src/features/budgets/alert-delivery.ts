import { type AlertDelivery, createQueueDelivery } from "../../billing/delivery.js";
import type { Logger } from "../../logger.js";
import { removeOldest } from "../../util/collections.js";
import type { BudgetAlert, BudgetStore } from "./budget-store.js";

/** Sends alerts to the webhook endpoints of their callers. */
export interface AlertWebhooks {
  /** False until the endpoints are loaded. */
  readonly isReady: () => boolean;
  /**
   * Sends an alert to the endpoints that have not accepted it yet. Resolves to whether all have accepted it. Does not reject.
   */
  readonly send: (alert: BudgetAlert) => Promise<boolean>;
}

/** The dependencies of a delivery of alerts. Without `send` and `webhooks`, alerts stay in the ledger for 30 days. */
export interface AlertDeliveryParts {
  readonly store: BudgetStore | undefined;
  /** The operator's function. */
  readonly send: ((alert: BudgetAlert) => unknown) | undefined;
  /** Absent without the option `webhooks`. */
  readonly webhooks?: AlertWebhooks | undefined;
  readonly logger: Logger;
}

/**
 * Creates the delivery of the alerts about budgets. An alert is marked as delivered when `onBudget` and all webhook endpoints
 * of its caller have accepted it. Until then the ledger returns it again after each lease. The passes over the alerts do not
 * wait for webhooks, so that a slow endpoint delays no other alert.
 */
export function createAlertDelivery({
  store,
  send: onBudget,
  webhooks,
  logger,
}: AlertDeliveryParts): AlertDelivery {
  /** By the ids of alerts that only one of both has accepted. */
  const byHook = new Set<string>();
  const byEndpoints = new Set<string>();
  const sending = new Map<string, Promise<void>>();

  async function markDelivered(alerts: readonly BudgetAlert[]): Promise<void> {
    await store?.markAlertsDelivered(alerts);
    for (const { id } of alerts) {
      byHook.delete(id);
      byEndpoints.delete(id);
    }
  }

  async function sendWebhooks(alert: BudgetAlert, by: AlertWebhooks): Promise<void> {
    if (!byEndpoints.has(alert.id) && !(await by.send(alert))) return;
    if (byHook.has(alert.id)) await markDelivered([alert]);
    else addTo(byEndpoints, alert.id);
  }

  function beginToSend(alert: BudgetAlert, by: AlertWebhooks): void {
    if (sending.has(alert.id)) return;
    const sent = sendWebhooks(alert, by)
      .catch((error: unknown) => {
        logger.error({ alert: alert.id, err: error }, "The ledger failed; alerts are delivered later.");
      })
      .finally(() => sending.delete(alert.id));
    sending.set(alert.id, sent);
  }

  const delivery = createQueueDelivery<BudgetAlert>({
    take: async (limit, leaseMs) =>
      webhooks?.isReady() === false ? [] : ((await store?.takeAlerts(limit, leaseMs)) ?? []),
    markDelivered: async (alerts) => {
      if (webhooks === undefined) return await markDelivered(alerts);
      for (const { id } of alerts) addTo(byHook, id);
      const accepted = alerts.filter(({ id }) => byEndpoints.has(id));
      if (accepted.length > 0) await markDelivered(accepted);
    },
    send:
      store &&
      (onBudget ?? webhooks) &&
      ((alert) => {
        if (webhooks !== undefined) beginToSend(alert, webhooks);
        return byHook.has(alert.id) ? undefined : onBudget?.(alert);
      }),
    name: "onBudget",
    items: "alerts",
    idField: "alert",
    logger,
  });
  const unwatch =
    onBudget === undefined && webhooks === undefined ? undefined : store?.watch(() => void delivery.run());
  return {
    isNeeded: delivery.isNeeded,
    run: delivery.run,
    stop: async () => {
      unwatch?.();
      await delivery.stop();
    },
    sent: async () => void (await Promise.all(sending.values())),
  };
}

/** How many alerts are remembered that wait for the other receivers. Older ones are delivered twice. */
const MAX_WAITING = 10_000;

function addTo(ids: Set<string>, id: string): void {
  ids.add(id);
  removeOldest(ids, MAX_WAITING);
}
