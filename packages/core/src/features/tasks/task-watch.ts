import { GatewayError } from "../../errors.js";
import type { GatewayRequest } from "../../http.js";
import type { Logger } from "../../logger.js";
import { type Repeat, settlesWithin } from "../../util/async.js";
import { CallerCounts } from "../../util/fair-share.js";
import type { Task, TaskStore } from "../task-store/task-store.js";
import { createTaskReader, type WatchedTask } from "./task-reader.js";

/** Tells clients that wait when their tasks change. One watch serves all clients of a gateway. */
export interface TaskWatch {
  /**
   * Follows a task for a client. Call `end` of the result.
   *
   * @param task as it was just read
   * @param client its request, which is referenced until the end: the signal of a Web `Request` follows the client only as
   * long as the `Request` is referenced
   * @throws GatewayError `rate_limit_exceeded` if the caller has too many clients that wait, `overloaded` if the gateway has
   */
  follow(task: Task, client?: WatchingClient): FollowedTask;
  /** Ends all waits, also those that begin later. */
  close(): void;
}

/** A client that waits. */
type WatchingClient = Pick<GatewayRequest, "signal">;

/** A task that a client follows. */
export interface FollowedTask {
  /** The newest known state. */
  readonly task: Task;
  /** True when there is nothing more to wait for: the gateway closes, the client has left, or `end` was called. */
  readonly isOver: boolean;
  /** Resolves when the task has another state or more images than at the last call, when it is over, or after `ms`. */
  waitForChange(ms: number): Promise<void>;
  /** A second call does nothing. */
  readonly end: () => void;
}

/** What a {@link TaskWatch} needs of the gateway. */
export interface TaskWatchParts {
  readonly store: TaskStore;
  readonly repeat: Repeat;
  readonly logger: Logger;
}

const MAX_CLIENTS_OF_CALLER = 100;
const MAX_CLIENTS = 10_000;

const TICK_MS = 1_000;
/** Without a tick for this time, the timer has ended: on Workers a timer ends with the request that created it. */
const DEAD_MS = 5 * TICK_MS;

/** A client that follows a task. */
interface Follower {
  readonly client: WatchingClient | undefined;
  isOver: boolean;
  /** Ends the wait, if there is one. */
  wake: () => void;
  readonly end: () => void;
}

/** A task and the clients that follow it. */
interface FollowedEntry extends WatchedTask {
  readonly followers: Set<Follower>;
}

/**
 * The store tells most changes, and the task is then read once for all of its clients. Changes that are not told are found by
 * reading each task now and then, see {@link createTaskReader}. While no client waits, there is no timer and no subscription.
 */
export function createTaskWatch({ store, repeat, logger }: TaskWatchParts): TaskWatch {
  const entries = new Map<string, FollowedEntry>();
  const clients = createClientCount();
  let stop: (() => void) | undefined;
  let tickedAt = 0;
  let isClosed = false;

  const reader = createTaskReader<FollowedEntry>({
    store,
    logger,
    onChange: ({ followers }) => {
      for (const follower of followers) follower.wake();
    },
  });

  const tick = (): void => {
    tickedAt = performance.now();
    for (const { followers } of entries.values()) {
      for (const follower of followers) if (follower.client?.signal.aborted === true) follower.end();
    }
    reader.readDue(entries.values());
  };

  const start = (): void => {
    const isDead = performance.now() - tickedAt > DEAD_MS;
    if (stop !== undefined && !isDead) return;
    stop?.();
    tickedAt = performance.now();
    const endWatch = store.watch((change) => {
      const entry = change.kind === "changed" ? entries.get(change.id) : undefined;
      if (entry !== undefined) reader.readNow(entry);
    });
    const endRepeating = repeat(tick, TICK_MS);
    stop = () => {
      stop = undefined;
      endRepeating();
      endWatch();
    };
  };

  const findEntry = (task: Task): FollowedEntry => {
    const known = entries.get(task.id);
    if (known !== undefined) return known;
    const entry: FollowedEntry = { ...reader.begin(task), followers: new Set() };
    entries.set(task.id, entry);
    return entry;
  };

  return {
    follow(task, client) {
      if (!isClosed) start();
      clients.add(task.caller);
      const entry = findEntry(task);
      reader.update(entry, task);
      const follower: Follower = {
        client,
        isOver: isClosed || client?.signal.aborted === true,
        wake: () => {},
        end: () => {
          follower.isOver = true;
          follower.wake();
          if (!entry.followers.delete(follower)) return;
          clients.delete(task.caller);
          client?.signal.removeEventListener?.("abort", follower.end);
          if (entry.followers.size > 0) return;
          entries.delete(task.id);
          reader.forget(entry);
          if (entries.size === 0) stop?.();
        },
      };
      entry.followers.add(follower);
      client?.signal.addEventListener?.("abort", follower.end);
      return createFollowedTask(entry, follower);
    },
    close() {
      isClosed = true;
      for (const { followers } of entries.values()) {
        for (const follower of followers) {
          follower.isOver = true;
          follower.wake();
        }
      }
      stop?.();
    },
  };
}

function createFollowedTask(entry: FollowedEntry, follower: Follower): FollowedTask {
  let seen = entry.task;
  return {
    get task() {
      return entry.task;
    },
    get isOver() {
      return follower.isOver;
    },
    async waitForChange(ms) {
      if (entry.task === seen && !follower.isOver) {
        const change = new Promise<void>((resolve) => {
          follower.wake = resolve;
        });
        await settlesWithin(change, ms);
      }
      seen = entry.task;
    },
    end: follower.end,
  };
}

/** A task that needs no watch, because it does not change any more. */
export function toEndedTask(task: Task): FollowedTask {
  return { task, isOver: true, waitForChange: async () => {}, end: () => {} };
}

/** Counts the clients of each caller. */
function createClientCount() {
  const counts = new CallerCounts();
  return {
    /** @throws GatewayError if there are too many */
    add(caller: string): void {
      if (counts.of(caller) >= MAX_CLIENTS_OF_CALLER) {
        throw new GatewayError(
          "rate_limit_exceeded",
          `At most ${MAX_CLIENTS_OF_CALLER} requests of a caller can wait for tasks at the same time: end some of them, ` +
            "or read the tasks without waiting.",
          { retryAfterSeconds: 5, limit: "task-clients" },
        );
      }
      if (counts.total >= MAX_CLIENTS) {
        const message = "Too many clients wait for tasks: read the task without waiting, or try again soon.";
        throw new GatewayError("overloaded", message, { retryAfterSeconds: 5, limit: "task-clients" });
      }
      counts.add(caller, 1);
    },
    delete: (caller: string): void => counts.add(caller, -1),
  };
}
