import { createLeaseQueue, type QueueEntry } from "../../billing/lease-queue.js";
import type { MemoryRecords } from "../../billing/memory-ledger.js";
import { copyRecord } from "../../billing/records.js";
import { createListeners } from "../../util/collections.js";
import type { Writable } from "../../util/writable.js";
import { MAX_ALERT_AGE_MS } from "../budgets/budget-alerts.js";
import type { BudgetAlert } from "../budgets/budget-store.js";
import type { TaskMessages } from "../task-store/memory-tasks.js";
import type { Task } from "../task-store/task-store.js";
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
  const alertsById = new Map<string, QueueEntry<BudgetAlert>>();
  const messages = createMemoryMessages(now);
  const listeners = createListeners<"alert" | "message">();

  /** Later, so that no listener runs inside a method. */
  const tell = (kind: "alert" | "message"): void => queueMicrotask(() => listeners.tell(kind));

  function forgetAlert(id: string): void {
    alertsById.get(id)?.moveTo(undefined);
    alertsById.delete(id);
  }

  const leases: Leases = {
    record: ({ limit, leaseMs }) => records.take(limit, leaseMs).map(copyRecord),
    alert({ limit, leaseMs }) {
      const oldest = now() - MAX_ALERT_AGE_MS;
      for (const [id, { value }] of alertsById) if (Date.parse(value.time) < oldest) forgetAlert(id);
      return alerts.take(limit, leaseMs).map((alert) => ({ ...alert }));
    },
    message: (options) => messages.lease(options),
  };

  const outbox: Outbox = {
    lease: async (kind, options) => leases[kind](options),
    async done(_kind, entries) {
      for (const entry of entries) {
        if ("state" in entry) records.markDelivered(entry);
        else forgetAlert(entry.id);
      }
    },
    async finish(id, attempt) {
      messages.finish(id, attempt);
    },
    async addMessages(alert, added) {
      for (const { id, endpoint } of added) {
        messages.add({ id, caller: alert.caller, endpoint, alert: alert.id }, { alert: { ...alert } });
      }
      if (added.length > 0) tell("message");
    },
    list: async (filter, limit) =>
      messages
        .select(filter)
        .toReversed()
        .slice(0, limit)
        .map(({ message }) => ({ ...message })),
    async replay(filter) {
      const selected = messages.select(filter);
      for (const { message } of selected) {
        Object.assign(message, { state: "waiting", attempts: 0, nextAt: now() });
        delete message.lastError;
      }
      if (selected.length > 0) tell("message");
      return selected.length;
    },
    async setDisabled(caller, endpoint, isDisabled) {
      messages.setDisabled({ caller, endpoint }, isDisabled);
      if (!isDisabled) tell("message");
    },
    listDisabled: async () => messages.listDisabled(),
    watch: listeners.watch,
  };

  const taskMessages: TaskMessages = {
    write(endpoints, task) {
      messages.writeAbout(task, endpoints);
      if (endpoints.length > 0) tell("message");
    },
    hasPending: messages.hasPending,
    drop: (task) => messages.drop(task),
  };

  const addAlerts = (added: readonly BudgetAlert[]): void => {
    for (const alert of added) {
      forgetAlert(alert.id);
      alertsById.set(alert.id, alerts.add(alert));
      const [oldest] = alertsById.keys();
      if (alertsById.size > MAX_ALERTS && oldest !== undefined) forgetAlert(oldest);
    }
    tell("alert");
  };
  return { outbox, taskMessages, addAlerts };
}

/** The messages, each with what it is about. */
function createMemoryMessages(now: () => number) {
  /** In the order in which they were written. */
  const messages = new Map<string, StoredMessage>();
  const byTask = new Map<string, StoredMessage[]>();
  const disabled = new Map<string, WebhookEndpointName>();

  const isPending = ({ message }: StoredMessage): boolean =>
    message.state === "waiting" && !disabled.has(keyOf(message));

  function add(
    facts: Pick<WebhookMessage, "id" | "caller" | "endpoint" | "task" | "alert">,
    about: Pick<WebhookEntry, "task" | "alert">,
  ): void {
    if (messages.has(facts.id)) return;
    const message = { ...facts, state: "waiting", attempts: 0, nextAt: now() } as const;
    const stored: StoredMessage = { id: facts.id, message, ...about };
    messages.set(facts.id, stored);
    if (facts.task !== undefined) byTask.set(facts.task, [...(byTask.get(facts.task) ?? []), stored]);
  }

  /** Removes messages about alerts that are old, or too many. */
  function removeOld(): void {
    const ofAlerts = [...messages.values()].filter(({ alert }) => alert !== undefined);
    const oldest = now() - MAX_ALERT_AGE_MS;
    for (const [index, { id, alert }] of ofAlerts.entries()) {
      const isOld = Date.parse(alert?.time ?? "") < oldest;
      if (isOld || index < ofAlerts.length - MAX_ALERTS) messages.delete(id);
    }
  }

  return {
    add,
    writeAbout(task: Task, endpoints: readonly string[]): void {
      for (const endpoint of endpoints) {
        const id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
        add({ id, task: task.id, caller: task.caller, endpoint }, { task });
      }
    },
    hasPending: (task: string): boolean => byTask.get(task)?.some(isPending) ?? false,
    drop(task: string): void {
      for (const { id } of byTask.get(task) ?? []) messages.delete(id);
      byTask.delete(task);
    },
    lease({ limit, leaseMs, except = [] }: LeaseOptions): WebhookEntry[] {
      removeOld();
      const instant = now();
      const excluded = new Set(except.map(keyOf));
      const due = [...messages.values()]
        .filter(
          (stored) =>
            isPending(stored) &&
            stored.message.nextAt <= instant &&
            !excluded.has(keyOf(stored.message)) &&
            !excluded.has(keyOf({ caller: stored.message.caller })),
        )
        .toSorted((one, other) => one.message.nextAt - other.message.nextAt)
        .slice(0, limit);
      for (const { message } of due) message.nextAt = instant + leaseMs;
      return due.map(({ message, task, ...rest }) => ({
        ...rest,
        message: { ...message },
        ...(task && { task: { ...task, images: [] } }),
      }));
    },
    finish(id: string, attempt: Parameters<Outbox["finish"]>[1]): void {
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
    select(filter: WebhookFilter): StoredMessage[] {
      removeOld();
      return [...messages.values()].filter(({ message }) =>
        (["caller", "endpoint", "task", "state"] as const).every(
          (field) => filter[field] === undefined || filter[field] === message[field],
        ),
      );
    },
    setDisabled(name: WebhookEndpointName, isDisabled: boolean): void {
      if (isDisabled) disabled.set(keyOf(name), name);
      else disabled.delete(keyOf(name));
    },
    listDisabled: (): WebhookEndpointName[] => Array.from(disabled.values(), (name) => ({ ...name })),
  };
}

/** Without `endpoint`, the key of all endpoints of the caller. */
const keyOf = ({ caller, endpoint }: NonNullable<LeaseOptions["except"]>[number]): string =>
  JSON.stringify([caller, endpoint]);
