import type { DatabaseSync } from "node:sqlite";
import {
  checkTask,
  checkTaskEnd,
  checkTaskImages,
  checkUpstream,
  compareAge,
  type EntryFailure,
  fitsShare,
  type HoldRecord,
  type NewTask,
  parseHold,
  reportFailures,
  type StoredHold,
  type Task,
  type TaskChange,
  type TaskEnd,
  type TaskRoom,
  type TaskStatus,
  type TaskStore,
  type TaskSubmission,
  type TaskSweepOptions,
  type UnresolvedRecord,
} from "@calotype/core/stores";
import type { Balances } from "./balances.js";
import type { Settlement } from "./holds-and-records.js";
import type { EntryTable } from "./outbox-table.js";
import type { Owner } from "./owner.js";
import { type Row, readNumber, readText } from "./read-column.js";
import { createTaskQueue } from "./task-queue.js";
import { readTask, readTaskRow, TASK_COLUMNS, TASK_SUMMARY_COLUMNS, type TaskRow } from "./task-rows.js";

/** What tasks need besides their own tables. */
export interface TasksContext {
  readonly balances: Balances;
  readonly settlement: Settlement;
  readonly outbox: Pick<EntryTable, "addTaskMessages" | "removeOfTask">;
  readonly owner: Owner;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Runs a query as soon as the database is not locked. */
  readonly read: <T>(query: () => T) => Promise<T>;
  /** Runs an operation inside a transaction. */
  readonly write: <T>(operation: () => T) => Promise<T>;
}

/** How many tasks a sweep ends or deletes in one transaction. It bounds how long it locks the file. */
const SWEEP_BATCH = 256;

/** The tasks in the database of a ledger. */
export function createTasks(database: DatabaseSync, context: TasksContext): TaskStore {
  const { balances, settlement, outbox, owner, now, read, write } = context;
  const queue = createTaskQueue(database, context);
  const { tell, watch, writeAndTell } = createListeners(write);

  const selectById = database.prepare(SELECT_TASK);
  const selectByRepeat = database.prepare(SELECT_REPEATED);
  const selectOwn = database.prepare(SELECT_OF_CALLER);
  const selectPage = database.prepare(SELECT_PAGE);
  const selectAll = database.prepare(SELECT_ALL);
  const countOpen = database.prepare(COUNT_OPEN);
  const insert = database.prepare(
    `INSERT INTO tasks (id, request_id, caller, model, operation, status, created_at, expires_at, keep_ms, repeat_key,
       fingerprint, webhooks, hold, images, share_bytes)
     VALUES (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, '[]', ?)`,
  );
  const selectShares = database.prepare(SELECT_SHARES);
  const insertInput = database.prepare("INSERT INTO task_inputs (task, input) VALUES (?, ?)");
  const removeInput = database.prepare("DELETE FROM task_inputs WHERE task = ? RETURNING input");
  const markSent = database.prepare(
    "UPDATE tasks SET status = 'in_progress' WHERE id = ? AND status = 'queued' AND owner = ?",
  );
  const setUpstream = database.prepare(
    "INSERT INTO task_upstreams (task, upstream) VALUES (?, ?) ON CONFLICT (task) DO UPDATE SET upstream = excluded.upstream",
  );
  const selectUpstream = database.prepare("SELECT 1 FROM task_upstreams WHERE task = ?");
  const removeUpstream = database.prepare("DELETE FROM task_upstreams WHERE task = ?");
  const putBack = database.prepare("UPDATE tasks SET owner = NULL WHERE sequence = ?");
  const setImages = database.prepare("UPDATE tasks SET images = ? WHERE sequence = ?");
  const setEnd = database.prepare(
    `UPDATE tasks SET status = ?, owner = NULL, ended_at = ?, delete_at = ?, hold = NULL, images = '[]', result = ?,
       error = ? WHERE sequence = ?`,
  );
  const selectTakenByDead = database.prepare(SELECT_TAKEN_BY_DEAD);
  const selectExpired = database.prepare(SELECT_EXPIRED);
  const selectOld = database.prepare(SELECT_OLD);
  const remove = database.prepare("DELETE FROM tasks WHERE sequence = ?");
  const executeAlone = createSavepoint(database);

  const findById = (id: string): TaskRow | undefined => readIfPresent(selectById.get(id));

  /** Returns the refusal of a task that exceeds the share of its caller. */
  function findFull({ caller, room }: NewTask, bytes: number): TaskSubmission | undefined {
    if (room === undefined) return undefined;
    const row = selectShares.get(caller);
    const isRoom = (unit: keyof TaskRoom, size: number): boolean => {
      const own = readNumber(row, `own_${unit}`);
      return fitsShare({ own, others: readNumber(row, `all_${unit}`) - own, capacity: room[unit] }, size);
    };
    if (isRoom("tasks", 1) && isRoom("bytes", bytes)) return undefined;
    return { kind: "full", isShareUsed: readNumber(row, "own_tasks") > 0 };
  }

  function submit(task: NewTask, hold: HoldRecord): TaskSubmission {
    checkTask(task, hold);
    const { id, requestId, caller, model, operation, repeat } = task;
    const known =
      findById(id) ?? (repeat === undefined ? undefined : readIfPresent(selectByRepeat.get(repeat.key)));
    if (known !== undefined) return toRepetition(known, task);
    const bytes = Buffer.byteLength(task.input);
    const refusal = findFull(task, bytes);
    if (refusal !== undefined) return refusal;
    const reservation = balances.reserve(hold);
    if (!reservation.ok) return { kind: "refused", balance: reservation.balance };
    const instant = now();
    const { lastInsertRowid } = insert.run(
      id,
      requestId,
      caller,
      model,
      operation,
      Math.floor(instant),
      Math.ceil(instant + task.ttlMs),
      Math.ceil(task.keepMs),
      repeat?.key ?? null,
      repeat?.fingerprint ?? null,
      JSON.stringify([...new Set(task.webhooks)]),
      JSON.stringify(reservation.hold),
      bytes,
    );
    insertInput.run(lastInsertRowid, task.input);
    queue.join(caller);
    tell({ kind: "queued" });
    return { kind: "submitted", task: readTask(selectById.get(id)) };
  }

  /** Ends a task. Returns its input. The hold is up to the caller. */
  function finish(
    { sequence, task, keepMs, endpoints }: TaskRow,
    status: TaskStatus,
    { result, error }: Partial<TaskEnd> = {},
  ): string {
    const endedAt = Math.floor(now());
    setEnd.run(status, endedAt, endedAt + keepMs, result ?? null, error ?? null, sequence);
    const input = readText(removeInput.get(sequence), "input");
    removeUpstream.run(sequence);
    queue.leave(task.caller);
    outbox.addTaskMessages({ sequence, caller: task.caller }, endpoints);
    tell({ kind: "changed", id: task.id });
    return input;
  }

  function end(taskEnd: TaskEnd): void {
    checkTaskEnd(taskEnd);
    const { record, status } = taskEnd;
    const row = findById(taskEnd.id);
    const isOpen = row !== undefined && row.task.endedAt === undefined;
    const canEnd = isOpen && (record !== undefined || row.owner === owner.id);
    const hold = canEnd ? readHold(row) : undefined;
    if (hold !== undefined) balances.free(hold);
    if (record !== undefined) settlement.settle(record, hold);
    else if (row !== undefined && !isOpen) settlement.release(row.task.requestId);
    if (canEnd) finish(row, status, taskEnd);
  }

  function cancel(caller: string, id: string): { task: Task; input?: string } | undefined {
    const row = findById(id);
    if (row?.task.caller !== caller) return undefined;
    if (row.task.status !== "queued") return { task: row.task };
    balances.free(readHold(row));
    const input = finish(row, "cancelled");
    return { task: readTask(selectById.get(id)), input };
  }

  /** True if a task was not sent, or can be continued. */
  const canReturn = ({ sequence, task }: TaskRow): boolean =>
    task.status === "queued" || (task.status === "in_progress" && selectUpstream.get(sequence) !== undefined);

  function returnToQueue({ sequence, task }: TaskRow): void {
    putBack.run(sequence);
    if (task.status === "queued") queue.join(task.caller);
    tell({ kind: "queued" });
  }

  /** Ends a task that was sent and whose process died, or puts it back. */
  function endLost(row: TaskRow, swept: Swept, { onLost, lostError }: TaskSweepOptions): void {
    if (canReturn(row)) {
      returnToQueue(row);
      return;
    }
    const hold = readHold(row);
    balances.free(hold);
    swept.lost.push(settlement.lose(hold, onLost));
    swept.inputs.push(finish(row, "failed", { error: lostError }));
  }

  /** Runs an operation for each row. A row for which it fails is reported, and the others are still ended. */
  function forEachRow(rows: readonly Row[], swept: Swept, operation: (row: TaskRow) => void): void {
    for (const row of rows) {
      try {
        executeAlone(() => operation(readTaskRow(row)));
      } catch (error) {
        if (!database.isTransaction) throw error;
        swept.failures.push({ id: readText(row, "id"), error });
      }
    }
  }

  function sweepBatch(options: TaskSweepOptions, after: SweepPlace | undefined): Swept {
    const swept: Swept = { lost: [], inputs: [], failures: [], next: undefined };
    const instant = Math.floor(now());
    if (after === undefined) {
      const own = options.own === true ? 1 : 0;
      const taken = selectTakenByDead.all({ now: instant, self: owner.id, own });
      forEachRow(taken, swept, (row) => endLost(row, swept, options));
    }
    const { expiresAt, sequence } = after ?? { expiresAt: Number.MIN_SAFE_INTEGER, sequence: 0 };
    const expired = selectExpired.all(instant, expiresAt, sequence, SWEEP_BATCH);
    forEachRow(expired, swept, (row) => {
      balances.free(readHold(row));
      swept.inputs.push(finish(row, "failed", { error: options.expiredError }));
    });
    const old = selectOld.all(instant, SWEEP_BATCH);
    for (const row of old) {
      outbox.removeOfTask(readNumber(row, "sequence"));
      remove.run(readNumber(row, "sequence"));
    }
    if (expired.length === SWEEP_BATCH || old.length === SWEEP_BATCH) {
      const last = expired.at(-1);
      swept.next = last === undefined ? { expiresAt, sequence } : readPlace(last);
    }
    return swept;
  }

  return {
    watch,
    submit: async (task, hold) => await writeAndTell(() => submit(task, hold)),
    take: async (options) => {
      // A read, so that an empty queue costs no transaction.
      if (await read(() => queue.isEmpty(options.except))) return [];
      return await write(() => queue.take(options));
    },
    markSent: async (id) =>
      await writeAndTell(() => {
        owner.renewWhenDue();
        const isSent = markSent.run(id, owner.id).changes === 1;
        if (isSent) tell({ kind: "changed", id });
        return isSent;
      }),
    putBack: async (ids) =>
      await writeAndTell(() => {
        for (const id of ids) {
          const row = findById(id);
          if (row?.owner === owner.id && canReturn(row)) returnToQueue(row);
        }
      }),
    keepUpstream: async (id, upstream) =>
      await write(() => {
        checkUpstream(upstream);
        const row = findById(id);
        if (row?.task.status !== "in_progress" || row.owner !== owner.id) return;
        setUpstream.run(row.sequence, upstream);
      }),
    addImages: async (id, images) =>
      await writeAndTell(() => {
        checkTaskImages(images);
        const row = findById(id);
        if (row?.task.status !== "in_progress" || row.owner !== owner.id) return;
        setImages.run(JSON.stringify([...row.task.images, ...images]), row.sequence);
        tell({ kind: "changed", id });
      }),
    end: async (taskEnd) => await writeAndTell(() => end(taskEnd)),
    cancel: async (caller, id) => await writeAndTell(() => cancel(caller, id)),
    find: async (caller, id) =>
      await read(() => {
        const row = selectOwn.get(id, caller);
        return row && readTask(row);
      }),
    list: async (caller, { limit, after }) =>
      await read(() => {
        const place = after === undefined ? undefined : selectOwn.get(after, caller);
        if (after !== undefined && place === undefined) return [];
        const before = place === undefined ? Number.MAX_SAFE_INTEGER : readNumber(place, "sequence");
        return selectPage.all(caller, before, limit).map(readTask);
      }),
    listAll: async ({ caller = null, statuses, limit }) =>
      await read(() => {
        const asked = statuses === undefined ? null : JSON.stringify(statuses);
        const counts = new Map(countOpen.all().map((row) => [row["status"], readNumber(row, "tasks")]));
        return {
          tasks: selectAll.all({ caller, statuses: asked, limit }).map(readTask),
          queued: counts.get("queued") ?? 0,
          inProgress: counts.get("in_progress") ?? 0,
        };
      }),
    sweep: async (options) => {
      const lost: UnresolvedRecord[] = [];
      const inputs: string[] = [];
      const failures: EntryFailure[] = [];
      let place: SweepPlace | undefined;
      do {
        const after = place;
        const swept = await writeAndTell(() => sweepBatch(options, after));
        lost.push(...swept.lost);
        inputs.push(...swept.inputs);
        failures.push(...swept.failures);
        place = swept.next;
      } while (place !== undefined);
      reportFailures(failures, options.onFailure);
      return { lost: lost.toSorted(compareAge), inputs };
    },
  };
}

const SELECT_TASK = `SELECT ${TASK_COLUMNS} FROM tasks WHERE id = ?`;
const SELECT_REPEATED = `SELECT ${TASK_COLUMNS} FROM tasks WHERE repeat_key = ?`;
const SELECT_OF_CALLER = `SELECT ${TASK_COLUMNS} FROM tasks WHERE id = ? AND caller = ?`;
/** What all callers have, and one of them. */
const SELECT_SHARES = `SELECT sums.tasks AS all_tasks, sums.bytes AS all_bytes,
    coalesce(own.tasks, 0) AS own_tasks, coalesce(own.bytes, 0) AS own_bytes
  FROM task_share_sums AS sums LEFT JOIN task_shares AS own ON own.caller = ? WHERE sums.is_only = 1`;
const SELECT_PAGE = `SELECT ${TASK_SUMMARY_COLUMNS} FROM tasks WHERE caller = ? AND sequence < ?
  ORDER BY sequence DESC LIMIT ?`;

const SELECT_ALL = `SELECT ${TASK_SUMMARY_COLUMNS} FROM tasks
  WHERE (:caller IS NULL OR caller = :caller)
    AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
  ORDER BY sequence DESC LIMIT :limit`;
const COUNT_OPEN = `SELECT status, count(*) AS tasks FROM tasks WHERE delete_at IS NULL GROUP BY status`;

/** The tasks that were taken by dead owners; with `own` also those of this owner. */
const SELECT_TAKEN_BY_DEAD = `SELECT ${TASK_COLUMNS} FROM tasks WHERE owner IS NOT NULL
  AND ((owner = :self AND :own)
    OR (owner <> :self AND NOT EXISTS (SELECT 1 FROM owners WHERE owners.id = tasks.owner AND alive_until > :now)))`;

/** Tasks that waited too long, after a place in the order of their expiry. */
const SELECT_EXPIRED = `SELECT ${TASK_COLUMNS} FROM tasks
  WHERE status = 'queued' AND expires_at <= ? AND (expires_at, sequence) > (?, ?)
  ORDER BY expires_at, sequence LIMIT ?`;

/** Tasks that ended long ago. A message that is still to be sent keeps its task, unless its endpoint is disabled. */
const SELECT_OLD = `SELECT sequence FROM tasks WHERE delete_at <= ? AND NOT EXISTS
  (SELECT 1 FROM outbox AS message WHERE message.task = tasks.sequence AND state = 'waiting' AND NOT EXISTS
    (SELECT 1 FROM disabled_webhooks AS disabled
     WHERE disabled.caller = message.caller AND disabled.endpoint = message.endpoint))
  LIMIT ?`;

/** What a transaction of a sweep did. */
interface Swept {
  readonly lost: UnresolvedRecord[];
  readonly inputs: string[];
  readonly failures: EntryFailure[];
  /** Where the next transaction begins. `undefined`: there is nothing more to do. */
  next: SweepPlace | undefined;
}

/** A place in the order in which tasks expire. */
interface SweepPlace {
  readonly expiresAt: number;
  readonly sequence: number;
}

const readPlace = (row: Row): SweepPlace => ({
  expiresAt: readNumber(row, "expires_at"),
  sequence: readNumber(row, "sequence"),
});

const readIfPresent = (row: Row): TaskRow | undefined => (row === undefined ? undefined : readTaskRow(row));

/** @throws Error if the hold is damaged */
const readHold = ({ hold }: TaskRow): StoredHold => parseHold(hold ?? "");

function toRepetition(known: TaskRow, { caller, repeat }: NewTask): TaskSubmission {
  const isSame = known.task.caller === caller && known.fingerprint === (repeat?.fingerprint ?? null);
  return isSame ? { kind: "repeated", task: known.task } : { kind: "conflict" };
}

/** Runs an operation of a transaction so that its failure undoes only its own changes. */
function createSavepoint(database: DatabaseSync): (operation: () => void) => void {
  const mark = database.prepare("SAVEPOINT task");
  const keep = database.prepare("RELEASE task");
  const undo = database.prepare("ROLLBACK TO task");
  return (operation) => {
    mark.run();
    try {
      operation();
    } catch (error) {
      // Some errors, such as a full disk, end the whole transaction.
      if (database.isTransaction) undo.run();
      throw error;
    } finally {
      if (database.isTransaction) keep.run();
    }
  };
}

/** Tells the listeners of one ledger object what it changed. */
interface Listeners {
  /** To be called inside the operation of `writeAndTell`. */
  readonly tell: (change: TaskChange) => void;
  readonly watch: TaskStore["watch"];
  /** Runs an operation inside a transaction, and tells its changes after the commit. */
  readonly writeAndTell: <T>(operation: () => T) => Promise<T>;
}

function createListeners(write: TasksContext["write"]): Listeners {
  const listeners = new Set<(change: TaskChange) => void>();
  let changes: TaskChange[] = [];
  return {
    tell: (change) => void changes.push(change),
    watch: (listener) => {
      // A function of its own, so that a listener may watch twice.
      const told = (change: TaskChange): void => listener(change);
      listeners.add(told);
      return () => void listeners.delete(told);
    },
    writeAndTell: async (operation) => {
      const { result, told } = await write(() => {
        // Operations run one after the other. What one that failed left behind is dropped.
        changes = [];
        return { result: operation(), told: changes };
      });
      for (const change of told) {
        for (const listener of listeners) listener(change);
      }
      return result;
    },
  };
}
