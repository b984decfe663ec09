import type { Logger } from "../../logger.js";
import { toPlainError } from "../../redact.js";
import { CallerCounts } from "../../util/fair-share.js";
import type {
  Task,
  WebhookEndpointName,
  WebhookMessage,
  WebhookStore,
  WebhookTakeOptions,
} from "../task-store/task-store.js";
import type { MessageEndpoint, WebhookEndpoints } from "./endpoints.js";
import { writePayload } from "./payload.js";
import { planNext, type SendResult } from "./schedule.js";
import { type SendParts, sendMessage } from "./send.js";

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
  readonly store: WebhookStore;
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
const RECORD_MS = 15_000;
/** A message may wait for as many attempts before it as fit into its lease. */
const ATTEMPTS_PER_LEASE = 5;

/** The messages for one endpoint that were taken. */
interface MessageQueue {
  readonly name: WebhookEndpointName;
  readonly waiting: TakenMessage[];
  running: number;
  /** Whether the store was asked to leave its messages out, so that more may be due. */
  isLeftOut: boolean;
}

interface TakenMessage {
  readonly message: WebhookMessage;
  readonly body: string;
  /** After this time there is not enough left of the lease for an attempt. */
  readonly beginBefore: number;
}

/** Creates a sender. Messages for one endpoint do not wait for another endpoint, and their order is not kept. */
export function createWebhookSender(parts: SenderParts): WebhookSender {
  const { store, logger } = parts;
  const queues = new Map<string, MessageQueue>();
  const attempts = new Set<Promise<void>>();
  const taken = new CallerCounts();
  /** Whether more messages may be due since the last look. */
  let isWanted = false;
  let isStopped = false;
  let taking: Promise<void> | undefined;

  function wake(): void {
    isWanted = true;
    taking ??= takeWhileWanted().finally(() => {
      taking = undefined;
      // Something may have become due after the last look.
      if (isWanted && !isStopped) wake();
    });
  }

  async function takeWhileWanted(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      if (isStopped) return;
      const timeoutMs = parts.endpoints()?.timeoutMs;
      if (timeoutMs === undefined) return;
      const room = MAX_TAKEN - taken.total;
      // Then several callers have used up their shares, and are left out until an attempt ends.
      if (room <= 0) return;
      try {
        if (await take(Math.ceil(room * PART), timeoutMs)) isWanted = true;
      } catch (error) {
        logger.error({ err: error }, "The webhooks to send could not be read; retrying every 10 s.");
        return;
      }
    }
  }

  /** Returns whether there was a message. */
  async function take(limit: number, timeoutMs: number): Promise<boolean> {
    const waitMs = ATTEMPTS_PER_LEASE * timeoutMs;
    const beginBefore = performance.now() + waitMs - timeoutMs;
    const except: WebhookTakeOptions["except"][number][] = [];
    for (const queue of queues.values()) {
      const { caller } = queue.name;
      queue.isLeftOut = !hasRoom(queue);
      // No message for another endpoint of the caller either, if its share is used up.
      if (queue.isLeftOut) except.push(isWithinShare(caller) ? queue.name : { caller });
    }
    const due = await store.take({ limit, leaseMs: waitMs + RECORD_MS, except });
    for (const { message, task } of due) {
      const queue = findQueue(message);
      // Only the body is kept: the task may have a result of megabytes.
      queue.waiting.push({ message, body: writePayload(task, parts.writeSummary), beginBefore });
      taken.add(message.caller, 1);
      sendNext(queue);
    }
    return due.length > 0;
  }

  function findQueue({ caller, endpoint }: WebhookMessage): MessageQueue {
    const name = { caller, endpoint };
    const queue = queues.get(keyOf(name)) ?? { name, waiting: [], running: 0, isLeftOut: false };
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
      const next = queue.waiting.shift();
      if (next === undefined) break;
      if (isStopped || performance.now() > next.beginBefore) {
        taken.add(caller, -1);
        continue;
      }
      queue.running++;
      const attempt = attemptToSend(next).finally(() => {
        attempts.delete(attempt);
        queue.running--;
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

  async function attemptToSend({ message, body }: TakenMessage): Promise<void> {
    const { id, task, caller, endpoint } = message;
    const fields = { webhook: id, task, caller, endpoint };
    try {
      const result = await send(parts, message, body);
      if (result.kind === "gone") {
        dropWaiting(message);
        await store.setDisabled(caller, endpoint, true);
      }
      const next = planNext(result, message.attempts, parts.random);
      await store.finish(id, next);
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
    if (taking === undefined && attempts.size === 0) return;
    await taking;
    await Promise.all(attempts);
    // More may have become due in the meantime.
    await idle();
  }

  return {
    wake,
    idle,
    async stop() {
      isStopped = true;
      await idle();
    },
  };
}

function keyOf({ caller, endpoint }: WebhookEndpointName): string {
  return JSON.stringify([caller, endpoint]);
}

/** Does not reject. */
async function send(parts: SenderParts, message: WebhookMessage, body: string): Promise<SendResult> {
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
  return sendMessage({ ...parts, timeoutMs: endpoints.timeoutMs }, endpoint, { id, body });
}
