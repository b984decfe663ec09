import { createLeaseQueue, type QueueEntry } from "../../billing/lease-queue.js";
import type { MemoryRecords } from "../../billing/memory-ledger.js";
import { copyRecord } from "../../billing/records.js";
import { createListeners } from "../../util/collections.js";
import type { Writable } from "../../util/writable.js";
import { MAX_ALERT_AGE_MS } from "../budgets/budget-alerts.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { TaskMessages } from "../task-store/memory-tasks.js";
import {
  checkWebhookAttempt,
  type LeaseOptions,
  type Outbox,
  type OutboxEntries,
  type OutboxKind,
  type WebhookEndpointName,
  type WebhookEntry,
  type WebhookFilter,
  type WebhookMessage,
} from "./outbox.js";

/** How many alerts, and how many messages about alerts, are kept. Beyond this, the oldest are dropped. */
const MAX_ALERTS = 10_000;

interface StoredMessage extends WebhookEntry {
  readonly message: Writable<WebhookMessage>;
}

type Leases = {
  readonly [Kind in OutboxKind]: (options: LeaseOptions) => OutboxEntries[Kind][];
};

/**
 * The outbox of a ledger in memory.
 *
 * @param now milliseconds since 1970
 */
export function createMemoryOutbox(now: () => number, records: MemoryRecords) {
  const alerts = createLeaseQueue<BudgetAlert>(now);
  /** In the order in which they were written. */
  const alertsById = new Map<string, QueueEntry<BudgetAlert>>();
  /** The ids of those that were delivered. */
  const deliveredAlerts = new Set<string>();
  /** In the order in which they were written. */
  const messages = new Map<string, StoredMessage>();
  const byTask = new Map<string, StoredMessage[]>();
  const disabled = new Map<string, WebhookEndpointName>();
  const listeners = createListeners<"alert" | "message">();

  /** Later, so that no listener runs inside a method. */
  const tell = (kind: "alert" | "message"): void => queueMicrotask(() => listeners.tell(kind));

  const isPending = ({ message }: StoredMessage): boolean =>
    message.state === "waiting" && !disabled.has(keyOf(message));

  const isOld = ({ time }: BudgetAlert): boolean => Date.parse(time) < now() - MAX_ALERT_AGE_MS;

  function forgetAlert(id: string): void {
    alertsById.get(id)?.moveTo(undefined);
    alertsById.delete(id);
    deliveredAlerts.delete(id);
  }

  function forgetOldAlerts(): void {
    for (const [id, { value }] of alertsById) if (isOld(value)) forgetAlert(id);
  }

  function addMessage(
    facts: Omit<WebhookMessage, "state" | "attempts" | "nextAt">,
    about: Pick<WebhookEntry, "task" | "alert">,
  ): StoredMessage {
    const message = { ...facts, state: "waiting", attempts: 0, nextAt: now() } as const;
    const stored: StoredMessage = { id: facts.id, message, ...about };
    messages.set(facts.id, stored);
    tell("message");
    return stored;
  }

  /** Messages about alerts are dropped if they are old, or too many. */
  function select(isSelected: (stored: StoredMessage) => boolean): StoredMessage[] {
    const ofAlerts = [...messages.values()].filter(({ alert }) => alert !== undefined);
    for (const [index, { id, alert }] of ofAlerts.entries()) {
      if ((alert && isOld(alert)) || index < ofAlerts.length - MAX_ALERTS) messages.delete(id);
    }
    return [...messages.values()].filter(isSelected);
  }

  const selectBy = (filter: WebhookFilter): StoredMessage[] =>
    select(({ message }) =>
      (["caller", "endpoint", "task", "state"] as const).every(
        (field) => filter[field] === undefined || filter[field] === message[field],
      ),
    );

  const leases: Leases = {
    record: ({ limit, leaseMs }) => records.take(limit, leaseMs).map(copyRecord),
    alert({ limit, leaseMs }) {
      forgetOldAlerts();
      return alerts.take(limit, leaseMs).map((alert) => ({ ...alert }));
    },
    message({ limit, leaseMs, except = [] }) {
      const instant = now();
      const excluded = new Set(except.map(keyOf));
      const isDue = (stored: StoredMessage): boolean =>
        isPending(stored) &&
        stored.message.nextAt <= instant &&
        !excluded.has(keyOf(stored.message)) &&
        !excluded.has(keyOf({ caller: stored.message.caller }));
      const due = select(isDue)
        .toSorted((one, other) => one.message.nextAt - other.message.nextAt)
        .slice(0, limit);
      for (const { message } of due) message.nextAt = instant + leaseMs;
      return due.map(({ message, task, ...rest }) => ({
        ...rest,
        message: { ...message },
        ...(task && { task: { ...task, images: [] } }),
      }));
    },
  };

  const outbox: Outbox = {
    lease: async (kind, options) => leases[kind](options),
    leaseInOrder: async ({ limit, leaseMs }) => records.takeInOrder(limit, leaseMs).map(copyRecord),
    async done(_kind, entries) {
      for (const entry of entries) {
        if ("state" in entry) {
          records.markDelivered(entry);
          continue;
        }
        const alert = alertsById.get(entry.id);
        if (alert === undefined) continue;
        alerts.markDelivered(alert);
        deliveredAlerts.add(entry.id);
      }
    },
    async listAlerts({ caller }, limit) {
      forgetOldAlerts();
      const byAlert = Map.groupBy(messages.values(), ({ message }) => message.alert);
      return Array.from(alertsById.values(), ({ value }) => value)
        .toReversed()
        .filter((alert) => caller === undefined || alert.caller === caller)
        .slice(0, limit)
        .map((alert) => {
          const states = byAlert.get(alert.id)?.map(({ message }) => message.state) ?? [];
          const isWaiting = !deliveredAlerts.has(alert.id) || states.includes("waiting");
          const ended = states.includes("given_up") ? "given_up" : "delivered";
          return { ...alert, state: isWaiting ? "waiting" : ended };
        });
    },
    async finish(id, attempt) {
      checkWebhookAttempt(attempt);
      const message = messages.get(id)?.message;
      if (message === undefined || message.state === "delivered") return;
      if (attempt.kind === "delivered") {
        message.attempts++;
        message.state = "delivered";
        delete message.lastError;
        return;
      }
      if (message.state !== "waiting") return;
      message.attempts++;
      message.lastError = attempt.error;
      if (attempt.kind === "given_up") message.state = "given_up";
      else message.nextAt = now() + attempt.delayMs;
    },
    async addMessages(alert, added) {
      const { caller, id: alertId } = alert;
      for (const { id, endpoint } of added) {
        if (!messages.has(id)) addMessage({ id, caller, endpoint, alert: alertId }, { alert: { ...alert } });
      }
    },
    list: async (filter, limit) =>
      selectBy(filter)
        .toReversed()
        .slice(0, limit)
        .map(({ message }) => ({ ...message })),
    async replay(filter) {
      const selected = selectBy(filter);
      for (const { message } of selected) {
        Object.assign(message, { state: "waiting", attempts: 0, nextAt: now() });
        delete message.lastError;
      }
      if (selected.length > 0) tell("message");
      return selected.length;
    },
    async setDisabled(caller, endpoint, isDisabled) {
      const name = { caller, endpoint };
      if (isDisabled) {
        disabled.set(keyOf(name), name);
      } else {
        disabled.delete(keyOf(name));
        tell("message");
      }
    },
    listDisabled: async () => Array.from(disabled.values(), (name) => ({ ...name })),
    watch: listeners.watch,
  };

  const taskMessages: TaskMessages = {
    write(endpoints, task) {
      const added = endpoints.map((endpoint) => {
        const id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
        return addMessage({ id, task: task.id, caller: task.caller, endpoint }, { task });
      });
      byTask.set(task.id, added);
    },
    hasPending: (task) => byTask.get(task)?.some(isPending) ?? false,
    drop(task) {
      for (const { id } of byTask.get(task) ?? []) messages.delete(id);
      byTask.delete(task);
    },
  };

  const addAlerts = (added: readonly BudgetAlert[]): void => {
    for (const alert of added) {
      alertsById.set(alert.id, alerts.add(alert));
      const [oldest] = alertsById.keys();
      if (alertsById.size > MAX_ALERTS && oldest !== undefined) forgetAlert(oldest);
    }
    tell("alert");
  };
  return { outbox, taskMessages, addAlerts };
}

/** Without `endpoint`, the key of all endpoints of the caller. */
const keyOf = ({ caller, endpoint }: NonNullable<LeaseOptions["except"]>[number]): string =>
  JSON.stringify([caller, endpoint]);
