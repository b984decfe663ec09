import { PERIOD_NEEDS_STORE } from "../../auth/check-caller.js";
import { createDelivery } from "../../billing/delivery.js";
import { OUTBOX_READERS } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { Chore } from "../../contract/chore.js";
import type { Feature } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import type { RelatedOptions } from "../../options/options.js";
import { throwProblems } from "../../options/problems.js";
import { toPlainError } from "../../redact.js";
import { readListLimit } from "../../util/list-limit.js";
import { BUDGET_STORE, type BudgetAlert } from "../budgets/budget-store.js";
import { type AlertFilter, type KnownAlert, OUTBOX, type Outbox } from "../outbox/outbox.js";
import { createAlertMessages } from "../webhooks/alert-messages.js";
import type { WebhookEndpoints } from "../webhooks/endpoints.js";
import type { WebhooksFeature } from "../webhooks/webhooks-feature.js";

/** The options of {@link alerts}. */
export interface AlertsOptions<Options extends RelatedOptions = RelatedOptions> {
  /** Called when the charges of a caller reach 50, 80 and 100 % of its budget, as `onBudget` of `createGateway`. */
  readonly onBudget?: ((alert: BudgetAlert) => unknown) | undefined;
  /** The feature `webhooks`, whose endpoints get the alerts too. Default: none. */
  readonly webhooks?: Pick<WebhooksFeature<Options>, "currentEndpoints"> | undefined;
}

/** What {@link alerts} adds to a gateway. */
export interface AlertsApi {
  /** The alerts about budgets. Read-only. */
  readonly alerts: AlertReports;
}

/** Shows the alerts about budgets. */
export interface AlertReports {
  /**
   * Returns the alerts of the last 30 days, the newest first. A ledger on PostgreSQL has those that were reached while a gateway had
   * `onBudget` or `webhooks`.
   *
   * @param filter an absent field selects all alerts
   * @param limit the largest number of alerts, from 1 to 1,000. Default 100.
   * @throws RangeError for a wrong limit. TypeError if the ledger does not keep alerts.
   */
  list(filter?: AlertFilter, limit?: number): Promise<readonly ListedAlert[]>;
}

/** An alert about a budget for the operator. */
export interface ListedAlert extends Omit<KnownAlert, "state"> {
  /** As of {@link KnownAlert}. `not_sent`: there is neither `onBudget` nor `webhooks`. */
  readonly state: KnownAlert["state"] | "not_sent";
  /** Whether the gateway has `onBudget`, which gets it. */
  readonly isForOnBudget: boolean;
}

/** Alerts about budgets. The ledger must keep them. */
export function alerts<Options extends RelatedOptions = RelatedOptions>({
  onBudget,
  webhooks,
}: AlertsOptions<Options>): Feature<AlertsApi, Options> {
  return {
    name: "alerts",
    setup(kernel) {
      const { ledger, logger } = kernel;
      if (onBudget !== undefined && findAbility(ledger, BUDGET_STORE) === undefined) {
        throwProblems([{ path: "onBudget", message: PERIOD_NEEDS_STORE }]);
      }
      const endpoints = webhooks && (() => webhooks.currentEndpoints(kernel));
      const outbox = findAbility(ledger, OUTBOX);
      const hasReceiver = (onBudget ?? endpoints) !== undefined;
      findAbility(ledger, OUTBOX_READERS)?.setReader("alert", hasReceiver);
      const api: AlertsApi = {
        alerts: {
          async list(filter = {}, limit) {
            if (outbox?.listAlerts === undefined) {
              throw new TypeError("The ledger of this gateway keeps no alerts.");
            }
            const listed = await outbox.listAlerts(filter, readListLimit(limit));
            const isSent = onBudget !== undefined || endpoints?.() !== undefined;
            return listed.map((alert) => ({
              ...alert,
              ...(!isSent && alert.state === "waiting" && { state: "not_sent" }),
              isForOnBudget: onBudget !== undefined,
            }));
          },
        },
      };
      return { api, chores: [createAlertDelivery({ outbox, onBudget, endpoints, logger })] };
    },
  };
}

/** What {@link createAlertDelivery} needs of the gateway. */
interface AlertReceivers {
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

/**
 * Creates the delivery of alerts. For each endpoint of the caller a message is written, and then `onBudget` is called. If that fails, no
 * message is written twice. Without `onBudget` and endpoints, alerts stay in the ledger for 30 days.
 */
function createAlertDelivery({ outbox, onBudget, endpoints, logger }: AlertReceivers): Chore {
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
          done: (ended) => outbox.done("alert", ended),
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
    flush: () => delivery.run(),
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
