import type { Writable } from "../../util/writable.js";
import {
  checkWebhookAttempt,
  type Task,
  type TaskChange,
  type WebhookEndpointName,
  type WebhookFilter,
  type WebhookMessage,
  type WebhookStore,
  type WebhookTakeOptions,
} from "./task-store.js";

/** A message in memory, with the task as it ended. */
export interface StoredMessage {
  readonly message: Writable<WebhookMessage>;
  readonly task: Task;
}

/**
 * The messages about tasks in memory.
 *
 * @param now milliseconds since 1970
 */
export function createMemoryWebhooks(now: () => number, tell: (change: TaskChange) => void) {
  /** In the order in which they were written. */
  const messages = new Map<string, StoredMessage>();
  const disabled = new Map<string, WebhookEndpointName>();

  const isPending = ({ message }: StoredMessage): boolean =>
    message.state === "waiting" && !disabled.has(keyOf(message));

  const select = (filter: WebhookFilter): StoredMessage[] =>
    [...messages.values()].filter(({ message }) => isSelected(message, filter));

  const store: WebhookStore = {
    async take({ limit, leaseMs, except }) {
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
      return due.map(({ message, task }) => ({ message: { ...message }, task: { ...task, images: [] } }));
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
    async list(filter, limit) {
      return select(filter)
        .toReversed()
        .slice(0, limit)
        .map(({ message }) => ({ ...message }));
    },
    async replay(filter) {
      const selected = select(filter);
      for (const { message } of selected) {
        Object.assign(message, { state: "waiting", attempts: 0, nextAt: now() });
        delete message.lastError;
      }
      if (selected.length > 0) tell({ kind: "webhook" });
      return selected.length;
    },
    async setDisabled(caller, endpoint, isDisabled) {
      const name = { caller, endpoint };
      if (isDisabled) {
        disabled.set(keyOf(name), name);
      } else {
        disabled.delete(keyOf(name));
        tell({ kind: "webhook" });
      }
    },
    async listDisabled() {
      return Array.from(disabled.values(), (endpoint) => ({ ...endpoint }));
    },
  };

  return {
    store,
    /** Writes a message for each endpoint. */
    write(endpoints: readonly string[], task: Task): StoredMessage[] {
      return endpoints.map((endpoint) => {
        const id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;
        const { id: taskId, caller } = task;
        const facts = { id, task: taskId, caller, endpoint };
        const stored: StoredMessage = {
          message: { ...facts, state: "waiting", attempts: 0, nextAt: now() },
          task,
        };
        messages.set(id, stored);
        return stored;
      });
    },
    /** Whether one of the messages is still to be sent, to an endpoint that is not disabled. */
    hasPending: (of: readonly StoredMessage[]) => of.some(isPending),
    drop(dropped: readonly StoredMessage[]) {
      for (const { message } of dropped) messages.delete(message.id);
    },
  };
}

/** Without `endpoint`, the key of all endpoints of the caller. */
const keyOf = ({ caller, endpoint }: WebhookTakeOptions["except"][number]): string =>
  JSON.stringify([caller, endpoint]);

function isSelected(message: WebhookMessage, filter: WebhookFilter): boolean {
  return (["caller", "endpoint", "task", "state"] as const).every(
    (field) => filter[field] === undefined || filter[field] === message[field],
  );
}
