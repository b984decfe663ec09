import { setTimeout as sleep } from "node:timers/promises";
import {
  type LedgerTables,
  type LiveTables,
  MOVED_TABLES,
  type OpenWork,
  type Page,
  type Place,
  type Scope,
  type SourceTables,
  type Summary,
  TABLES,
  type Table,
  type TargetTables,
} from "./tables.js";

/** Thrown with a message for the user of the command. */
export class LedgerCommandError extends Error {
  override readonly name = "LedgerCommandError";
}

/** Thrown if the copy differs from its source. */
export class VerificationError extends LedgerCommandError {}

/** How a copy runs. */
export interface CopyOptions {
  /** How long requests and tasks in progress may take to end, in milliseconds. 0: they must have ended. */
  readonly waitMs: number;
  /** Whether messages about tasks that were not sent yet are left behind. */
  readonly dropMessages: boolean;
  /** Called after each page. */
  readonly onProgress: (table: string, rows: number) => void;
}

/** What a copy has done. */
export interface CopyResult {
  /** The rows that were written by this call. */
  readonly rows: number;
  /** True if an earlier call had completed the copy. */
  readonly wasComplete: boolean;
  readonly summary: Summary;
}

/**
 * Copies all of a ledger into an empty one. Nothing may use either of them. It can be called again after it was interrupted: it goes on
 * after the last page that was written.
 *
 * @throws LedgerCommandError with the reason, before anything is written or when the sums differ
 */
export async function copyLedger(
  source: SourceTables,
  target: TargetTables,
  options: CopyOptions,
): Promise<CopyResult> {
  await assertComplete(source);
  await waitForWork(source, {}, options);
  const { processes } = await target.countOpenWork({});
  if (processes > 0)
    throw new LedgerCommandError(
      `${toCount(processes, "process", "es")} use ${target.description}: stop them first.`,
    );
  return await copyRows({ source, target, scope: {}, tables: TABLES, options });
}

async function assertComplete(tables: LedgerTables): Promise<void> {
  if (!(await tables.isStopped({}))) return;
  throw new LedgerCommandError(`A copy into ${tables.description} is not complete: run it again first.`);
}

/** How callers move. */
export interface MoveOptions extends CopyOptions {
  /** Whether rows of a caller that was moved away from the target earlier are replaced. */
  readonly replace: boolean;
}

/**
 * Moves one caller between databases in use. Both refuse its requests until its rows are copied and compared; then the target takes
 * them. The source goes on to refuse them. It can be called again after it was interrupted.
 *
 * @throws LedgerCommandError with the reason. If its requests did not end in time, the source takes new ones again
 */
export async function moveCaller(
  source: LiveTables,
  target: LiveTables,
  caller: string,
  options: MoveOptions,
): Promise<CopyResult> {
  const scope = { caller };
  await assertDifferent(source, target);
  await assertComplete(source);
  await assertComplete(target);
  const summary = await source.summarize(MOVED_TABLES, scope);
  if (!hasRows(summary))
    throw new LedgerCommandError(`${source.description} has nothing of ${quote(caller)}.`);
  const begun = parseState(await target.readProgress(scope));
  const wasStopped = { source: await source.isStopped(scope), target: await target.isStopped(scope) };
  const isUnfinished = begun?.isDone === false;
  let mustRemove = begun?.mustRemove === true;
  const wasMovedSo = begun?.isDone === true && isEqual(begun.source, summary);
  if (!isUnfinished && !wasMovedSo) {
    const there = await target.summarize(MOVED_TABLES, scope);
    // An interrupted move has stopped the target before the source.
    const isBegun = wasStopped.target && !hasRows(there);
    if (wasStopped.source && !isBegun) {
      throw new LedgerCommandError(
        `${quote(caller)} was moved away from ${source.description}, or a move of it to another ledger was interrupted.`,
      );
    }
    await checkRoom(target, caller, { there, isStopped: wasStopped.target, replace: options.replace });
    mustRemove = true;
    if (hasRows(there)) {
      const state: CopyState = { source: summary, table: 0, place: { rows: 0 }, isDone: false, mustRemove };
      await target.note({ caller, state: JSON.stringify(state) });
    }
  }
  await target.stop(scope);
  await source.leave(caller);
  try {
    await waitForWork(source, scope, options);
  } catch (error) {
    if (!wasStopped.source) await source.start(scope);
    if (!wasStopped.target) await target.start(scope);
    else if (mustRemove && !isUnfinished) await target.leave(caller);
    throw error;
  }
  // Only now, because the rows must stay if the move is given up before.
  if (mustRemove) await target.remove(caller);
  return await copyRows({ source, target, scope, tables: MOVED_TABLES, options });
}

/** A move into its own source would stop the caller there, and to undo it would remove its rows. */
async function assertDifferent(source: LiveTables, target: LiveTables): Promise<void> {
  if ((await source.readIdentity()) !== (await target.readIdentity())) return;
  throw new LedgerCommandError(
    `${source.description} and ${target.description} are the same: a caller moves to another ledger.`,
  );
}

/** Throws if the target has rows of the caller that the move may not remove. */
async function checkRoom(
  target: LiveTables,
  caller: string,
  {
    there,
    isStopped,
    replace,
  }: { readonly there: Summary; readonly isStopped: boolean; readonly replace: boolean },
): Promise<void> {
  const scope = { caller };
  const open = await target.countOpenWork(scope);
  if (open.holds + open.tasks > 0) throw stillOpen(target, { ...open, messages: 0, processes: 0 }, scope);
  if (!hasRows(there)) return;
  if (!isStopped) throw notEmpty(target, there, scope);
  if (!replace) {
    throw new LedgerCommandError(
      `${target.description} has rows of ${quote(caller)} from before it was moved away: --replace removes them.`,
    );
  }
}

/**
 * Gives up a move that was interrupted: removes what was copied, and lets the source take requests of the caller again.
 *
 * @throws LedgerCommandError if the move is complete, or was not begun
 */
export async function undoMove(source: LiveTables, target: LiveTables, caller: string): Promise<void> {
  await assertDifferent(source, target);
  const state = parseState(await target.readProgress({ caller }));
  if (state?.isDone === true) {
    throw new LedgerCommandError(
      `${quote(caller)} was moved completely: to move it back, exchange --from and --to, and add --replace.`,
    );
  }
  const isBegun = state !== undefined || !hasRows(await target.summarize(MOVED_TABLES, { caller }));
  if (!isBegun || !(await target.isStopped({ caller }))) {
    throw new LedgerCommandError(`No move of ${quote(caller)} to ${target.description} was interrupted.`);
  }
  if (state?.mustRemove === true) {
    // The rows are from before the caller was moved away, so it stays stopped there.
    await source.start({ caller });
    await target.leave(caller);
    return;
  }
  await target.remove(caller);
  await source.start({ caller });
  await target.start({ caller });
}

/** What a target notes with each page. */
interface CopyState {
  /** The summary of the source at the beginning: the source must not change, and must be the same one when the copy goes on. */
  readonly source: Summary;
  /** The table to go on with, by its place in the list of those that are copied. */
  readonly table: number;
  readonly place: Place;
  readonly isDone: boolean;
  /** True while a move waits for the source: the rows that the target has are from before, and are replaced. */
  readonly mustRemove?: boolean;
}

interface CopyJob {
  readonly source: SourceTables;
  readonly target: TargetTables;
  readonly scope: Scope;
  readonly tables: readonly Table[];
  readonly options: CopyOptions;
}

async function copyRows(job: CopyJob): Promise<CopyResult> {
  const { source, target, scope, tables } = job;
  const summary = await source.summarize(tables, scope);
  const known = parseState(await target.readProgress(scope));
  if (known !== undefined && !isEqual(known.source, summary)) {
    throw new LedgerCommandError(
      `${target.description} has a copy of something else, or ${source.description} has changed since that copy began. Copy into an empty ledger.`,
    );
  }
  if (known?.isDone === true) {
    await target.start(scope);
    return { rows: 0, wasComplete: true, summary };
  }
  if (known === undefined) {
    const there = await target.summarize(tables, scope);
    if (hasRows(there)) throw notEmpty(target, there, scope);
    await target.stop(scope);
  }
  const rows = await writeRows(
    job,
    known ?? { source: summary, table: 0, place: { rows: 0 }, isDone: false },
  );
  await verify(job, summary);
  const state: CopyState = { source: summary, table: tables.length, place: { rows: 0 }, isDone: true };
  await target.finish({ ...scope, state: JSON.stringify(state) }, await source.readRevision());
  await target.start(scope);
  return { rows, wasComplete: false, summary };
}

/** Copies the rows from a place on. While a page is written, the next one is read. */
async function writeRows(
  { source, target, scope, tables, options }: CopyJob,
  from: CopyState,
): Promise<number> {
  let written = 0;
  for (const [at, table] of tables.entries()) {
    if (at < from.table) continue;
    let place: Place | undefined = at === from.table ? from.place : { rows: 0 };
    let reading: Promise<Page> = source.read(table, scope, place);
    while (place !== undefined) {
      const { rows, next }: Page = await reading;
      if (next !== undefined) {
        reading = source.read(table, scope, next);
        // If the write fails, this promise is not awaited.
        reading.catch(() => undefined);
      }
      if (rows.length > 0) {
        const goOn = next === undefined ? { table: at + 1, place: { rows: 0 } } : { table: at, place: next };
        const state: CopyState = { ...from, ...goOn };
        await target.write(table, rows, { ...scope, state: JSON.stringify(state) });
        written += rows.length;
        options.onProgress(table.name, place.rows + rows.length);
      }
      place = next;
    }
  }
  return written;
}

async function verify({ source, target, scope, tables }: CopyJob, before: Summary): Promise<void> {
  const after = await source.summarize(tables, scope);
  if (!isEqual(before, after)) {
    throw new VerificationError(
      `${source.description} has changed while it was copied: ${describeDifferences(before, after)}. Stop everything that uses it, and copy into an empty ledger.`,
    );
  }
  const copied = await target.summarize(tables, scope);
  if (isEqual(after, copied)) return;
  throw new VerificationError(
    `The copy differs from its source: ${describeDifferences(after, copied)}. Do not use ${target.description}.`,
  );
}

/** Waits until nothing is in progress. */
async function waitForWork(
  source: SourceTables,
  scope: Scope,
  { waitMs, dropMessages }: CopyOptions,
): Promise<void> {
  const end = performance.now() + waitMs;
  for (;;) {
    const open = await source.countOpenWork(scope);
    const relevant: OpenWork = {
      ...open,
      ...(dropMessages && { messages: 0 }),
      // Gateways run while one caller moves, and those of the source send its messages.
      ...(scope.caller !== undefined && { messages: 0, processes: 0 }),
    };
    if (Object.values(relevant).every((count) => count === 0)) return;
    if (performance.now() >= end) throw stillOpen(source, relevant, scope);
    await sleep(Math.min(500, Math.max(1, end - performance.now())));
  }
}

function stillOpen(
  tables: LedgerTables,
  { holds, tasks, messages, processes }: OpenWork,
  { caller }: Scope,
): Error {
  const parts = [
    holds > 0 ? toCount(holds, "open hold", "s") : "",
    tasks > 0 ? `${toCount(tasks, "task", "s")} without an end` : "",
    messages > 0
      ? `${toCount(messages, "message", "s")} about tasks to send (--drop-messages leaves them behind)`
      : "",
    processes > 0 ? `${toCount(processes, "process", "es")} in use of it` : "",
  ].filter((part) => part !== "");
  const owner = caller === undefined ? "" : ` for ${quote(caller)}`;
  return new LedgerCommandError(
    `${tables.description} has ${parts.join(", ")}${owner}. ${caller === undefined ? "Stop the gateways" : "Wait"} until nothing is in progress, or add --wait SECONDS. Holds of a process that was killed end with the next sweep of a gateway after its lease.`,
  );
}

function notEmpty(target: LedgerTables, summary: Summary, { caller }: Scope): Error {
  const found = Object.entries(summary).flatMap(([table, { rows }]) =>
    rows === "0" ? [] : [`${table}: ${rows}`],
  );
  const owner = caller === undefined ? "other data" : `data of ${quote(caller)}`;
  return new LedgerCommandError(
    `${target.description} already has ${owner} (rows of ${found.join(", ")}). Nothing was copied.`,
  );
}

/** A balance of zero is left by a request that was refused. */
function hasRows(summary: Summary): boolean {
  return Object.entries(summary).some(([table, { rows, settled, held }]) =>
    table === "balances" ? settled !== "0" || held !== "0" : rows !== "0",
  );
}

/** Such as `records.charge: 12.5 and 12`. */
function describeDifferences(one: Summary, other: Summary): string {
  const differences = Object.entries(one).flatMap(([table, sums]) =>
    Object.entries(sums).flatMap(([column, sum]) => {
      const copied = other[table]?.[column];
      return copied === sum ? [] : [`${table}.${column}: ${sum} and ${copied}`];
    }),
  );
  return differences.slice(0, 10).join(", ");
}

const isEqual = (one: Summary, other: Summary): boolean => describeDifferences(one, other) === "";

function parseState(state: string | undefined): CopyState | undefined {
  const parsed: CopyState | undefined = state === undefined ? undefined : JSON.parse(state);
  return parsed;
}

const toCount = (count: number, noun: string, plural: string): string =>
  `${count} ${noun}${count === 1 ? "" : plural}`;

const quote = (caller: string): string => `the caller ${JSON.stringify(caller)}`;
