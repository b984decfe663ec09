import { findAbility } from "../../billing/ledger-ability.js";
import type { Feature, Kernel } from "../../kernel/feature.js";
import type { RelatedOptions } from "../../options/options.js";
import { checkFeatureOptions, throwProblems } from "../../options/problems.js";
import { OUTBOX } from "../outbox/outbox.js";
import { writeTaskSummary } from "../tasks/task-object.js";
import { createWebhookEndpoints, type WebhookEndpoints } from "./endpoints.js";
import type { WebhooksOptions } from "./webhook-options.js";
import { checkWebhooks, webhooksSchema } from "./webhook-schema.js";
import { createWebhooks, type Webhooks } from "./webhooks.js";

/** What {@link webhooks} adds to a gateway. */
export interface WebhooksApi {
  /** The messages about ended tasks and about budgets, and how to send them again. */
  readonly webhooks: Webhooks;
}

/** Signed requests to endpoints of callers. `tasks` and `alerts` take this feature, and send their messages by it. */
export interface WebhooksFeature<Options extends RelatedOptions = RelatedOptions>
  extends Feature<WebhooksApi, Options> {
  /** Returns the endpoints of these options. */
  endpointsOf(options: Options): WebhookEndpoints | undefined;
  /** Returns the endpoints of the options of the moment. */
  currentEndpoints(kernel: Pick<Kernel<Options>, "current">): WebhookEndpoints | "not loaded" | undefined;
}

/** Reports the end of tasks, and alerts about budgets, to the endpoints of callers. */
export function webhooks(options: WebhooksOptions): WebhooksFeature {
  checkFeatureOptions(webhooksSchema, options);
  return createWebhooksFeature(({ callers }) => {
    throwProblems(checkWebhooks(options, callers));
    return options;
  });
}

/** @param read returns the part of the options that is about webhooks. Called once for each set of options. */
export function createWebhooksFeature<Options extends RelatedOptions>(
  read: (options: Options) => WebhooksOptions | undefined,
): WebhooksFeature<Options> {
  const known = new WeakMap<Options, WebhookEndpoints | undefined>();
  const endpointsOf = (options: Options): WebhookEndpoints | undefined => {
    if (!known.has(options)) {
      const own = read(options);
      known.set(options, own && createWebhookEndpoints(own));
    }
    return known.get(options);
  };
  return {
    name: "webhooks",
    endpointsOf,
    currentEndpoints({ current }) {
      const configured = current();
      return configured === undefined ? "not loaded" : endpointsOf(configured.options);
    },
    setup(kernel) {
      const { api, ...chore } = createWebhooks({
        ...kernel,
        outbox: findAbility(kernel.ledger, OUTBOX),
        endpoints() {
          const configured = kernel.current();
          return configured && endpointsOf(configured.options);
        },
        writeSummary: writeTaskSummary,
      });
      return {
        api: { webhooks: api },
        chores: [chore],
        configure({ options }) {
          endpointsOf(options);
          return {};
        },
      };
    },
  };
}
