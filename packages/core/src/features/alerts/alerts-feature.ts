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
import { BUDGET_STORE, type BudgetAlert } from "../budgets/budget-store.js";
import { OUTBOX, type Outbox } from "../outbox/outbox.js";
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

/** Alerts about budgets. The ledger must keep them. */
export function alerts<Options extends RelatedOptions = RelatedOptions>({
  onBudget,
  webhooks,
}: AlertsOptions<Options>): Feature<object, Options> {
  return {
    name: "alerts",
    setup(kernel) {
      const { ledger, logger } = kernel;
      if (onBudget !== undefined && findAbility(ledger, BUDGET_STORE) === undefined) {
        throwProblems([{ path: "onBudget", message: PERIOD_NEEDS_STORE }]);
      }
      const endpoints = webhooks && (() => webhooks.currentEndpoints(kernel));
      const outbox = findAbility(ledger, OUTBOX);
      findAbility(ledger, OUTBOX_READERS)?.setReader("alert", (onBudget ?? endpoints) !== undefined);
      return { chores: [createAlertDelivery({ outbox, onBudget, endpoints, logger })] };
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
