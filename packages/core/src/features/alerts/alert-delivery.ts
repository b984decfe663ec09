import { PERIOD_NEEDS_STORE } from "../../auth/check-caller.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { Feature } from "../../kernel/feature.js";
import type { RelatedOptions } from "../../options/options.js";
import { throwProblems } from "../../options/problems.js";
import { createDelivery, PENDING } from "../../billing/delivery.js";
import type { Chore } from "../../contract/chore.js";
import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { removeOldest } from "../../util/collections.js";
import { BUDGET_STORE, type BudgetAlert } from "../budgets/budget-store.js";
import { OUTBOX, type Outbox } from "../outbox/outbox.js";
import { createAlertMessages } from "../webhooks/alert-messages.js";
import type { WebhooksFeature } from "../webhooks/webhooks-feature.js";
import type { WebhookEndpoints } from "../webhooks/endpoints.js";

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

/** How many alerts are remembered that `onBudget` has accepted and that are not ended. Older ones are delivered twice. */
const MAX_REMEMBERED = 10_000;

/**
 * Creates the delivery of alerts: to `onBudget`, and to the endpoints of the caller, each by a message of its own. An alert is ended
 * when `onBudget` has accepted it and its messages are written. Without `onBudget` and endpoints, alerts stay in the ledger for 30 days.
 */
function createAlertDelivery({ outbox, onBudget, endpoints, logger }: AlertReceivers): Chore {
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
          done: (ended) => outbox.done("alert", ended),
          onFailure: ({ id }, error) =>
            logger.error({ alert: id, err: error }, "onBudget failed; it is called again."),
          onLedgerFailure: (error) =>
            logger.error({ err: error }, "The ledger failed; alerts are delivered later."),
        }
      : undefined,
  );
  let unwatch: (() => void) | undefined;
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
