import { setTimeout as sleep } from "node:timers/promises";
import type { TaskChange } from "@calotype/core/stores";
import { guardClient, type PostgresClient, type PostgresPool } from "./pool.js";
import { withDeadline } from "./with-deadline.js";

/** A change of a task, an entry of the outbox that is due, or a change of a caller; without an id, any caller may have changed. */
type LedgerChange =
  | TaskChange
  | { readonly kind: "alert" | "message" }
  | { readonly kind: "caller"; readonly id?: string | undefined };

/** Tells listeners about changes, also about those by other processes. */
export interface Notifications {
  /** Tells changes by this ledger object to its listeners, after the current call. */
  readonly tell: (changes: readonly LedgerChange[]) => void;
  /** Adds a listener. Returns the function that removes it. */
  readonly watch: (listener: (change: LedgerChange) => void) => () => void;
  /** Removes all listeners. Resolves when the connection is closed. */
  readonly close: () => Promise<void>;
}

/** Where notifications come from. */
export interface NotificationsOptions {
  readonly pool: PostgresPool;
  readonly channel: string;
  /** The id of this ledger object. It ignores its own notifications, because it has told these changes already. */
  readonly ownerId: string;
  readonly timeoutMs: number;
}

/** How often the connection is checked. A connection may be lost without a sign. */
const CHECK_MS = 30_000;

/** The waits before a connection is opened again. The last one is repeated. */
const RETRY_MS: readonly number[] = [100, 1_000, 5_000, 30_000, 60_000];

/**
 * Listens on one connection of the pool while there are listeners, and connects again when it is lost. If the pool has one
 * connection only, it does not listen, because nothing else could be done then. Behind a pooler in transaction mode no
 * notifications arrive. In these cases listeners are told only about the changes by this ledger object.
 */
export function createNotifications(options: NotificationsOptions): Notifications {
  const { pool, ownerId } = options;
  const listeners = new Set<(change: LedgerChange) => void>();
  const canListen = (pool.options?.max ?? 2) > 1;
  let stop: AbortController | undefined;
  let listening: Promise<void> = Promise.resolve();

  const tell = (changes: readonly LedgerChange[]): void => {
    if (listeners.size === 0) return;
    queueMicrotask(() => {
      for (const change of changes) for (const listener of listeners) listener(change);
    });
  };
  const start = (): void => {
    if (!canListen || stop !== undefined) return;
    const controller = new AbortController();
    stop = controller;
    const before = listening;
    listening = before.then(() =>
      listen(options, controller.signal, (payload) => tell(readChanges(payload, ownerId))),
    );
  };
  const end = (): void => {
    stop?.abort();
    stop = undefined;
  };
  return {
    tell,
    watch: (listener) => {
      // A function of its own, so that a listener may watch twice.
      const told = (change: LedgerChange): void => listener(change);
      listeners.add(told);
      start();
      return () => {
        listeners.delete(told);
        if (listeners.size === 0) end();
      };
    },
    close: async () => {
      listeners.clear();
      end();
      await listening;
    },
  };
}

/** The payload of what is told after a connection was opened: changes before that were missed. */
const MISSED = JSON.stringify({ queued: true, webhook: true, callers: true });

/** Listens until the signal is aborted. Never rejects. */
async function listen(
  options: NotificationsOptions,
  signal: AbortSignal,
  onPayload: (payload: string) => void,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      await listenOnce(options, signal, (payload) => {
        // A connection that is lost again and again is not opened again at once.
        if (payload !== MISSED) failures = 0;
        onPayload(payload);
      });
    } catch {
      // The callers of the store also look now and then, so a lost connection is only a delay.
    }
    const waitMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0;
    await wait(waitMs * (0.5 + Math.random()), signal);
  }
}

/** Listens on one connection. Resolves when the signal is aborted, and rejects when the connection is lost. */
async function listenOnce(
  { pool, channel, timeoutMs }: NotificationsOptions,
  signal: AbortSignal,
  onPayload: (payload: string) => void,
): Promise<void> {
  if (signal.aborted) return;
  const client = await withDeadline(pool.connect(), timeoutMs, (late) => late.release());
  guardClient(client);
  const lost = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.on("end", () => reject(new Error("The connection for notifications was lost.")));
  });
  lost.catch(() => undefined);
  client.on("notification", ({ payload = "" }) => onPayload(payload));
  // The process may end although it listens.
  client.unref?.();
  try {
    await send(client, `LISTEN "${channel}"`, timeoutMs);
    onPayload(MISSED);
    while (!signal.aborted) {
      await Promise.race([wait(CHECK_MS, signal), lost]);
      if (!signal.aborted) await send(client, "SELECT 1", timeoutMs);
    }
  } finally {
    // Closed, because it must not be given to others while it listens.
    client.release(true);
  }
}

async function send(client: PostgresClient, text: string, timeoutMs: number): Promise<void> {
  const types = { getTypeParser: () => (value: string) => value };
  await withDeadline(client.query({ text, values: [], types }), timeoutMs);
}

/** Resolves after the time, or when the signal is aborted. Does not keep the process alive. */
async function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);
}

/** Reads a notification of the functions `tell` and `write_caller`. Any program may notify the channel, so others are ignored. */
function readChanges(payload: string, ownerId: string): LedgerChange[] {
  const notice = parse(payload);
  if (typeof notice !== "object" || notice === null) return [];
  const { by, queued, webhook, changed, caller, callers }: Partial<Record<string, unknown>> = { ...notice };
  if (by === ownerId) return [];
  const ids = Array.isArray(changed) ? changed.filter((id) => typeof id === "string") : [];
  const changes: LedgerChange[] = ids.map((id) => ({ kind: "changed", id }));
  if (queued === true) changes.push({ kind: "queued" });
  if (webhook === true) changes.push({ kind: "message" });
  if (typeof caller === "string") changes.push({ kind: "caller", id: caller });
  if (callers === true) changes.push({ kind: "caller" });
  return changes;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
