import type { Chore } from "../../contract/chore.js";
import { settlesWithin } from "../../util/async.js";
import { isJsonObject } from "../../util/json.js";
import { readListLimit } from "../../util/list-limit.js";
import type { Outbox, WebhookEndpointName, WebhookFilter, WebhookMessage } from "../outbox/outbox.js";
import type { SenderParts, WebhookSender } from "./sender.js";

/** Shows the messages about ended tasks and budgets, and sends them again. Every method rejects if the ledger has no outbox. */
export interface Webhooks {
  /**
   * Returns messages, the newest first. They are deleted with their tasks, those about budgets 30 days after the alert.
   *
   * @param filter an absent field selects all messages
   * @param limit the largest number of messages, from 1 to 1,000. Default 100.
   */
  list(filter?: WebhookFilter, limit?: number): Promise<readonly WebhookMessage[]>;
  /**
   * Sends messages again, also delivered ones, with their old ids and a new series of attempts. Those for a disabled
   * endpoint wait until it is enabled.
   *
   * @param filter at least one field, so that not all messages are sent again by mistake
   * @returns how many messages the filter selected
   */
  replay(filter: WebhookFilter): Promise<number>;
  /** Sends to an endpoint again that was disabled because it responded with 410. */
  enable(caller: string, endpoint: string): Promise<void>;
  /** Returns the disabled endpoints. */
  listDisabled(): Promise<readonly WebhookEndpointName[]>;
}

/** Sends webhooks while the gateway is in use. */
export interface WebhookDelivery extends Chore {
  /** For the operator. */
  readonly api: Webhooks;
  /** Sends the messages that are due, now and whenever the store tells of one. Returns at once. */
  readonly begin: () => undefined;
  /** Sends the messages that are due. Resolves when they were sent, or when the time is over; then the rest is sent later. */
  readonly flush: (ms: number) => Promise<void>;
  /** Begins no further attempt. Resolves when those in progress have ended. */
  readonly finish: () => Promise<void>;
}

/** What {@link createWebhooks} needs of the gateway. */
export interface WebhooksParts extends Omit<SenderParts, "outbox"> {
  /** `undefined` if the ledger has none. */
  readonly outbox: Outbox | undefined;
}

/** The webhooks of a gateway. The code that sends is loaded when there are endpoints. */
export function createWebhooks(parts: WebhooksParts): WebhookDelivery {
  const { outbox, logger } = parts;
  let loading: Promise<WebhookSender> | undefined;
  let unwatch: (() => void) | undefined;
  let isStopped = false;

  async function load(from: Outbox): Promise<WebhookSender> {
    const { createWebhookSender } = await import("./sender.js");
    return createWebhookSender({ ...parts, outbox: from });
  }

  function begin(): undefined {
    if (outbox === undefined || isStopped || parts.endpoints() === undefined) return;
    loading ??= load(outbox);
    unwatch ??= outbox.watch((kind) => {
      if (kind === "message") begin();
    });
    loading.then(
      (sender) => sender.wake(),
      (error: unknown) => {
        loading = undefined;
        logger.error(
          { err: error },
          "The code that sends webhooks could not be loaded; retrying every 10 s.",
        );
      },
    );
  }

  const api: Webhooks = {
    async list(filter = {}, limit) {
      checkFilter(filter);
      return await requireOutbox(outbox).list(filter, readListLimit(limit));
    },
    async replay(filter) {
      checkFilter(filter);
      if (Object.values(filter).every((value) => value === undefined)) {
        throw new RangeError(`replay needs at least one of ${FIELDS.join(", ")}.`);
      }
      const count = await requireOutbox(outbox).replay(filter);
      begin();
      return count;
    },
    async enable(caller, endpoint) {
      await requireOutbox(outbox).setDisabled(caller, endpoint, false);
      begin();
    },
    listDisabled: async () => await requireOutbox(outbox).listDisabled(),
  };

  return {
    api,
    begin,
    async flush(ms) {
      begin();
      const sent = loading?.then((sender) => sender.idle());
      if (sent !== undefined) await settlesWithin(sent, ms);
    },
    async finish() {
      isStopped = true;
      unwatch?.();
      // Why the code could not be loaded was logged.
      const sender = await loading?.catch(() => undefined);
      await sender?.stop();
    },
  };
}

const FIELDS = ["caller", "endpoint", "task", "state"] as const satisfies readonly (keyof WebhookFilter)[];
const STATES: readonly unknown[] = [
  "waiting",
  "delivered",
  "given_up",
] satisfies readonly WebhookMessage["state"][];

/** A misspelled field would select all messages. @throws RangeError */
function checkFilter(filter: WebhookFilter): void {
  const names: readonly string[] = FIELDS;
  if (!isJsonObject(filter)) throw new RangeError(`The filter must be an object of ${FIELDS.join(", ")}.`);
  for (const [name, value] of Object.entries(filter)) {
    if (!names.includes(name)) throw new RangeError(`The filter has only ${FIELDS.join(", ")}, not ${name}.`);
    if (value !== undefined && typeof value !== "string") throw new RangeError(`${name} must be a string.`);
  }
  if (filter.state !== undefined && !STATES.includes(filter.state)) {
    throw new RangeError(`state must be one of ${STATES.join(", ")}.`);
  }
}

/** @throws TypeError if there are no webhooks */
function requireOutbox(outbox: Outbox | undefined): Outbox {
  if (outbox !== undefined) return outbox;
  throw new TypeError(
    "The ledger has no outbox, so there are no webhooks: use the ledger in memory, of @calotype/sqlite or of @calotype/postgres.",
  );
}
