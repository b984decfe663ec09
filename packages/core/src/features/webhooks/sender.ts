import { createDelivery, LEASE_MS, PENDING } from "../../billing/delivery.js";
import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { CallerCounts } from "../../util/fair-share.js";
import type {
  LeaseOptions,
  Outbox,
  WebhookEndpointName,
  WebhookEntry,
  WebhookMessage,
} from "../outbox/outbox.js";
import type { Task } from "../task-store/task-store.js";
import { toAlertMessage } from "./alert-messages.js";
import type { MessageEndpoint, WebhookEndpoints } from "./endpoints.js";
import { writePayload } from "./payload.js";
import { planNext, type SendResult } from "./schedule.js";
import { type OutgoingMessage, type SendParts, sendMessage } from "./send.js";

/** Sends the messages that are due. */
export interface WebhookSender {
  /** Takes messages that are due and sends them, until none is left. Returns at once, also while messages are sent. */
  wake(): void;
  /** Resolves when no message is being sent and none was due at the last look. */
  idle(): Promise<void>;
  /**
   * Takes no further message. Resolves when the attempts in progress have ended. Messages that were taken and not sent are
   * sent later, by this process or another.
   */
  stop(): Promise<void>;
}

/** What a sender needs of the gateway. */
export interface SenderParts extends Pick<SendParts, "transport" | "now"> {
  readonly outbox: Outbox;
  /** Returns the current endpoints. `undefined` if the options have no webhooks any more. */
  readonly endpoints: () => WebhookEndpoints | undefined;
  /** Writes a task as a JSON object without its result. A parameter, because the folder `tasks` imports this one. */
  readonly writeSummary: (task: Task) => string;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** How many messages are sent to one endpoint at the same time. */
const PER_ENDPOINT = 4;
/** How many messages this process has at the same time. Each caller has a share of them, see `fitsShare`. */
const MAX_TAKEN = 256;
/**
 * Which part of the room that is left is taken at once: at most 16 messages. They may be of one caller, whose share is checked
 * before, so it may exceed its share by one part.
 */
const PART = 1 / 16;
/** The time to record an attempt before the lease of its message ends. */
const RECORD_MS = 10_000;

/** The messages for one endpoint that were taken. */
interface MessageQueue {
  readonly name: WebhookEndpointName;
  readonly waiting: TakenMessage[];
  running: number;
  /** An endpoint gets one alert at a time. */
  isSendingAlert: boolean;
  /** Whether the outbox was asked to leave its messages out, so that more may be due. */
  isLeftOut: boolean;
}

interface TakenMessage {
  readonly message: WebhookMessage;
  readonly outgoing: OutgoingMessage;
  /** After this time there is not enough left of the lease for an attempt. */
  readonly beginBefore: number;
}

/** Creates a sender. Messages for one endpoint do not wait for another endpoint, and their order is not kept. */
export function createWebhookSender(parts: SenderParts): WebhookSender {
  const { outbox, logger } = parts;
  const queues = new Map<string, MessageQueue>();
  const attempts = new Set<Promise<void>>();
  const taken = new CallerCounts();
  let isStopped = false;
  let looking: Promise<void> | undefined;

  const delivery = createDelivery<WebhookEntry>({
    name: "webhooks",
    countRoom() {
      if (parts.endpoints() === undefined) return 0;
      // With no room, several callers have used up their shares, and are left out until an attempt ends.
      return Math.ceil((MAX_TAKEN - taken.total) * PART);
    },
    lease: (limit, leaseMs) =>
      outbox.lease("message", { limit, leaseMs: leaseMs + timeoutMs(), except: findBusy() }),
    receive({ message, task, alert }) {
      const queue = findQueue(message);
      // Only the body is kept: the task may have a result of megabytes.
      const outgoing = alert
        ? toAlertMessage(alert)
        : { id: message.id, body: task === undefined ? "" : writePayload(task, parts.writeSummary) };
      queue.waiting.push({ message, outgoing, beginBefore: performance.now() + LEASE_MS - RECORD_MS });
      taken.add(message.caller, 1);
      sendNext(queue);
      return PENDING;
    },
    done: async () => undefined,
    onFailure: ({ id }, error) =>
      logger.error({ webhook: id, err: error }, "A webhook cannot be read; it is sent later."),
    onLedgerFailure: (error) =>
      logger.error({ err: error }, "The webhooks to send could not be read; retrying every 10 s."),
  });

  const timeoutMs = (): number => parts.endpoints()?.timeoutMs ?? 0;

  function wake(): void {
    if (!isStopped) looking = delivery.run();
  }

  /** The endpoints that are sent to as much as they may be. */
  function findBusy(): LeaseOptions["except"] {
    return [...queues.values()].flatMap((queue) => {
      queue.isLeftOut = !hasRoom(queue);
      if (!queue.isLeftOut) return [];
      const { caller } = queue.name;
      // No message for another endpoint of the caller either, if its share is used up.
      return [isWithinShare(caller) ? queue.name : { caller }];
    });
  }

  function findQueue({ caller, endpoint }: WebhookMessage): MessageQueue {
    const name = { caller, endpoint };
    const empty = { name, waiting: [], running: 0, isSendingAlert: false, isLeftOut: false };
    const queue = queues.get(keyOf(name)) ?? empty;
    queues.set(keyOf(name), queue);
    return queue;
  }

  function isWithinShare(caller: string): boolean {
    return taken.fits(caller, 1, MAX_TAKEN);
  }

  function hasRoom({ name, running, waiting }: MessageQueue): boolean {
    return running + waiting.length < PER_ENDPOINT && isWithinShare(name.caller);
  }

  function sendNext(queue: MessageQueue): void {
    const { caller } = queue.name;
    while (queue.running < PER_ENDPOINT) {
      const index = queue.waiting.findIndex(({ message }) => !isAlert(message) || !queue.isSendingAlert);
      const [next] = index === -1 ? [] : queue.waiting.splice(index, 1);
      if (next === undefined) break;
      if (isStopped || performance.now() > next.beginBefore) {
        taken.add(caller, -1);
        continue;
      }
      queue.running++;
      if (isAlert(next.message)) queue.isSendingAlert = true;
      const attempt = attemptToSend(next).finally(() => {
        attempts.delete(attempt);
        queue.running--;
        if (isAlert(next.message)) queue.isSendingAlert = false;
        taken.add(caller, -1);
        sendNext(queue);
      });
      attempts.add(attempt);
    }
    if (queue.isLeftOut && hasRoom(queue)) wake();
    if (queue.running === 0) queues.delete(keyOf(queue.name));
  }

  /** Leaves the messages for an endpoint that wants none to the store, where they wait until it is enabled. */
  function dropWaiting(message: WebhookMessage): void {
    const dropped = findQueue(message).waiting.splice(0);
    taken.add(message.caller, -dropped.length);
  }

  async function attemptToSend({ message, outgoing }: TakenMessage): Promise<void> {
    const { id, task, alert, caller, endpoint } = message;
    const fields = { webhook: id, ...(alert === undefined ? { task } : { alert }), caller, endpoint };
    try {
      const result = await send(parts, message, outgoing);
      if (result.kind === "gone") {
        dropWaiting(message);
        await outbox.setDisabled(caller, endpoint, true);
      }
      const next = planNext(result, message.attempts, parts.random);
      await outbox.finish(id, next);
      if (result.kind === "gone") {
        logger.error(
          fields,
          "A webhook endpoint responded with 410: it is disabled, and its message given up.",
        );
      } else if (next.kind === "given_up") {
        logger.error({ ...fields, reason: next.error }, "A webhook could not be delivered and was given up.");
      }
    } catch (error) {
      logger.error(
        { ...fields, err: error },
        "An attempt to send a webhook was not recorded; it is sent again.",
      );
    }
  }

  async function idle(): Promise<void> {
    const look = looking;
    await look;
    await Promise.all(attempts);
    // More may have become due in the meantime.
    if (looking !== look || attempts.size > 0) await idle();
  }

  return {
    wake,
    idle,
    async stop() {
      isStopped = true;
      await delivery.stop();
      await idle();
    },
  };
}

const isAlert = ({ alert }: WebhookMessage): boolean => alert !== undefined;

function keyOf({ caller, endpoint }: WebhookEndpointName): string {
  return JSON.stringify([caller, endpoint]);
}

/** Does not reject. */
async function send(
  parts: SenderParts,
  message: WebhookMessage,
  outgoing: OutgoingMessage,
): Promise<SendResult> {
  const { id, caller, endpoint: name } = message;
  const endpoints = parts.endpoints();
  let endpoint: MessageEndpoint | undefined;
  try {
    endpoint = (await endpoints?.find(caller))?.get(name);
  } catch (error) {
    parts.logger.error(
      { webhook: id, caller, err: toPlainError(error) },
      "The webhook endpoints could not be read.",
    );
    return { kind: "failed", error: "The endpoints of the caller could not be read." };
  }
  if (endpoints === undefined || endpoint === undefined) {
    return { kind: "unknown", error: "The caller has no endpoint with this name any more." };
  }
  return sendMessage({ ...parts, timeoutMs: endpoints.timeoutMs }, endpoint, outgoing);
}
