import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskChange } from "@calotype/core/stores";
import type { Database } from "./database.js";
import { guardClient, type PostgresClient, type PostgresPool } from "./pool.js";
import { withDeadline } from "./with-deadline.js";

/** A change of a task, an entry of the outbox that is due, or a change of a caller; without an id, any caller may have changed. */
type LedgerChange =
  | TaskChange
  | { readonly kind: "alert" | "message" }
  | { readonly kind: "caller"; readonly id?: string | undefined };

/** Tells listeners about changes, also about those by other processes. */
export interface Notifications {
  /**
   * Tells changes by this ledger object to its listeners, after the current call, and to other processes. Call it after the
   * transaction: a notification within it would make all commits of the database wait for each other.
   */
  readonly tell: (changes: readonly LedgerChange[]) => void;
  /** Adds a listener. Returns the function that removes it. */
  readonly watch: (listener: (change: LedgerChange) => void) => () => void;
  /** Removes all listeners. Resolves when the last changes were told and the connection is closed. */
  readonly close: () => Promise<void>;
}

/** Where notifications come from. */
export interface NotificationsOptions {
  readonly pool: PostgresPool;
  readonly database: Pick<Database, "call">;
  readonly channel: string;
  /** The id of this ledger object. It ignores its own notifications, because it has told these changes already. */
  readonly ownerId: string;
  readonly timeoutMs: number;
}

/** How often the connection is checked. A connection may be lost without a sign. */
const CHECK_MS = 30_000;

/** The waits before a connection is opened again. The last one is repeated. */
const RETRY_MS: readonly number[] = [100, 1_000, 5_000, 30_000, 60_000];

/** How long a notification may take to arrive before nothing is expected of `LISTEN`. */
const PROBE_MS = 2_000;

/** How often listeners look while no notifications arrive. */
const POLL_MS = 500;

/** What a listener can find by looking. A caller's change is found by its revision, and a task that a client follows is read again. */
const POLLED: readonly LedgerChange[] = [{ kind: "queued" }, { kind: "message" }];

/**
 * Listens on one connection of the pool while there are listeners, and connects again when it is lost. While no notifications
 * arrive, the listeners are told twice a second to look: if the pool has one connection only, because nothing else could be done
 * then, and behind a pooler in transaction mode.
 */
export function createNotifications(options: NotificationsOptions): Notifications {
  const { pool, ownerId } = options;
  const listeners = new Set<(change: LedgerChange) => void>();
  const canListen = (pool.options?.max ?? 2) > 1;
  const publisher = createPublisher(options);
  let stop: AbortController | undefined;
  let listening: Promise<void> = Promise.resolve();
  let isHearing = false;

  const tellListeners = (changes: readonly LedgerChange[]): void => {
    if (listeners.size === 0) return;
    queueMicrotask(() => {
      for (const change of changes) for (const listener of listeners) listener(change);
    });
  };
  const onPayload = (payload: string): void => tellListeners(readChanges(payload, ownerId));
  const onHearing = (hears: boolean): void => {
    isHearing = hears;
  };
  const start = (): void => {
    if (stop !== undefined) return;
    const controller = new AbortController();
    stop = controller;
    const { signal } = controller;
    const polling = setInterval(() => {
      if (!isHearing) tellListeners(POLLED);
    }, POLL_MS);
    polling.unref();
    signal.addEventListener("abort", () => clearInterval(polling));
    if (!canListen) return;
    const before = listening;
    listening = before.then(() => listen(options, { signal, onPayload, onHearing }));
  };
  const end = (): void => {
    stop?.abort();
    stop = undefined;
  };
  return {
    tell: (changes) => {
      tellListeners(changes);
      publisher.add(changes);
    },
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
      await Promise.all([listening, publisher.close()]);
    },
  };
}

/** The shortest time between two statements that notify other processes. */
const TELL_MS = 50;

/** PostgreSQL limits a notification to 8,000 bytes. An id has at most 512 bytes, or 3,074 in JSON. */
const MOST_BYTES = 3_500;

/** Tells changes to other processes, in one statement at a time. */
interface Publisher {
  readonly add: (changes: readonly LedgerChange[]) => void;
  /** Resolves when the notifications of all changes so far were sent, or could not be sent. */
  readonly close: () => Promise<void>;
}

function createPublisher({ database, channel, ownerId }: NotificationsOptions): Publisher {
  let waiting = new Set<string>();
  let sending: Promise<void> | undefined;
  const stopping = new AbortController();

  const sendAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const payloads = writePayloads([...waiting], ownerId);
      waiting = new Set();
      try {
        await database.call(() => ({
          sql: "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload",
          values: [channel, payloads],
        }));
      } catch {
        // Other processes also poll, so a lost notification only delays them.
      }
      await wait(TELL_MS, stopping.signal);
    }
    sending = undefined;
  };
  return {
    add: (changes) => {
      for (const change of changes) if (change.kind !== "alert") waiting.add(JSON.stringify(change));
      if (waiting.size > 0) sending ??= sendAll();
    },
    close: async () => {
      stopping.abort();
      await sending;
    },
  };
}

/** Writes changes as few payloads. */
function writePayloads(changes: readonly string[], by: string): string[] {
  const lists: string[][] = [];
  let bytes = MOST_BYTES;
  for (const change of changes) {
    bytes += Buffer.byteLength(change) + 1;
    if (bytes > MOST_BYTES) {
      lists.push([]);
      bytes = Buffer.byteLength(change) + 1;
    }
    lists.at(-1)?.push(change);
  }
  return lists.map((list) => `{"by":${JSON.stringify(by)},"changes":[${list.join(",")}]}`);
}

/** The payload of what is told after a connection was opened: changes before that were missed. */
const MISSED = JSON.stringify({ changes: [...POLLED, { kind: "caller" }] });

/** What a listening connection needs. */
interface Listening {
  readonly signal: AbortSignal;
  readonly onPayload: (payload: string) => void;
  /** Called when notifications begin to arrive, and when they end. */
  readonly onHearing: (isHearing: boolean) => void;
}

/** Listens until the signal is aborted. Never rejects. */
async function listen(options: NotificationsOptions, listening: Listening): Promise<void> {
  const { signal, onPayload, onHearing } = listening;
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      await listenOnce(options, {
        ...listening,
        onPayload: (payload) => {
          // A connection that is lost again and again is not opened again at once.
          if (payload !== MISSED) failures = 0;
          onPayload(payload);
        },
      });
    } catch {
      // Listeners look now and then while no notifications arrive, so a lost connection is only a delay.
    }
    onHearing(false);
    const waitMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0;
    await wait(waitMs * (0.5 + Math.random()), signal);
  }
}

/** Listens on one connection. Resolves when the signal is aborted, and rejects when the connection is lost. */
async function listenOnce(
  { pool, database, channel, timeoutMs }: NotificationsOptions,
  { signal, onPayload, onHearing }: Listening,
): Promise<void> {
  if (signal.aborted) return;
  const client = await withDeadline(pool.connect(), timeoutMs, (late) => late.release());
  guardClient(client);
  const lost = new Promise<never>((_, reject) => {
    client.on("error", reject);
    client.on("end", () => reject(new Error("The connection for notifications was lost.")));
  });
  lost.catch(() => undefined);
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
  const probe = JSON.stringify({ probe: randomUUID() });
  client.on("notification", ({ payload = "" }) => {
    if (payload === probe) hear();
    else onPayload(payload);
  });
  // The process may end although it listens.
  client.unref?.();
  try {
    await send(client, `LISTEN "${channel}"`, timeoutMs);
    onPayload(MISSED);
    // Over another connection: behind a pooler in transaction mode the notification of this one would arrive, and no other.
    await database.call(() => ({ sql: "SELECT pg_notify($1, $2)", values: [channel, probe] }));
    await withDeadline(Promise.race([heard, lost, wait(PROBE_MS, signal)]), PROBE_MS);
    onHearing(true);
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

/** Reads a notification of {@link writePayloads}. Any program may notify the channel, so others are ignored. */
function readChanges(payload: string, ownerId: string): LedgerChange[] {
  const notice = parse(payload);
  if (typeof notice !== "object" || notice === null) return [];
  const { by, changes }: Partial<Record<string, unknown>> = { ...notice };
  if (by === ownerId || !Array.isArray(changes)) return [];
  return changes.flatMap((change: unknown) => readChange(change) ?? []);
}

function readChange(change: unknown): LedgerChange | undefined {
  const { kind, id }: Partial<Record<string, unknown>> = { ...Object(change) };
  if (kind === "changed") return typeof id === "string" ? { kind, id } : undefined;
  if (kind === "caller") return typeof id === "string" ? { kind, id } : { kind };
  return kind === "queued" || kind === "message" ? { kind } : undefined;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
