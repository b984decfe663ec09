import {
  type CallerAccount,
  EMPTY_ACCOUNT,
  hold,
  lose,
  readBalance,
  readRecords,
  release,
  settle,
  toAccountKey,
} from "./account.ts";
import { type Checked, toChecked } from "./checked.ts";
import { findOrder, type OrderStep } from "./find-order.ts";
import {
  answeredOf,
  type CallOf,
  callsOf,
  FINAL_PROCESS,
  type History,
  type OutboxEntry,
  type RecordedCall,
  readFinal,
} from "./history.ts";

/**
 * Checks for each caller that one order of the calls explains all results, in which each call happens between its beginning and its
 * end. Accounts share nothing, so each is checked alone.
 */
export function checkAccounts({ calls, ...rest }: History): Checked {
  return toChecked(
    Array.from(readFinal(calls), ([caller, entries]) => {
      const steps = toSteps(calls, { ...rest, caller, entries });
      return { object: `the account of ${caller}`, search: findOrder(steps, EMPTY_ACCOUNT, toAccountKey) };
    }),
  );
}

type AccountStep = OrderStep<CallerAccount>;

/** What the steps of a caller depend on. */
interface AccountContext extends Omit<History, "calls"> {
  readonly caller: string;
  /** Its records at the end. */
  readonly entries: readonly OutboxEntry[];
}

function toSteps(calls: readonly RecordedCall[], context: AccountContext): AccountStep[] {
  const own = calls.filter(({ input }) => input !== null && input.caller === context.caller);
  return [...own.flatMap((call) => toStep(call, own)), ...toLosses(calls, own, context)];
}

/** The step of a call. A read without a result needs none. */
function toStep(call: RecordedCall, own: readonly RecordedCall[]): AccountStep[] {
  const { kind } = call;
  switch (kind) {
    case "hold":
      return [stepOf(call, (account) => hold(account, call.input, call.result), findEndOfHold(call, own))];
    case "settle":
      return [stepOf(call, (account) => settle(account, call.input, call.result))];
    case "release":
      return [stepOf(call, (account) => release(account, call.input))];
    case "balance":
    case "records":
      return call.result === undefined
        ? []
        : [{ ...stepOf(call, (account) => readResult(call, account)), isRead: true }];
    case "sweep":
    case "list":
    case "changeBudget":
    case "readBudget":
      return [];
  }
}

function readResult(call: CallOf<"balance" | "records">, account: CallerAccount): CallerAccount | undefined {
  if (call.result === undefined) return account;
  return call.kind === "balance" ? readBalance(account, call.result) : readRecords(account, call.result);
}

function stepOf(call: RecordedCall, apply: AccountStep["apply"], end = call.end): AccountStep {
  return { label: describe(call), begin: call.begin, end, isSure: call.result !== undefined, apply };
}

export const describe = ({ kind, process, input, result }: RecordedCall): string =>
  `${kind} by ${process} ${JSON.stringify(input)} = ${JSON.stringify(result) ?? "?"}`;

/** A hold whose call rejected is not made any more after a later release by its process. */
function findEndOfHold(
  { input, process, end, rejectedAt }: CallOf<"hold">,
  own: readonly RecordedCall[],
): number {
  if (rejectedAt === undefined) return end;
  const releases = answeredOf(own, "release").filter(
    (call) => call.input.id === input.id && call.process === process && call.begin > rejectedAt,
  );
  return Math.min(end, ...releases.map((call) => call.end));
}

/**
 * The steps of sweeps. A sweep ends the holds of a caller in one step. If its result is unknown or incomplete, it may have ended the
 * holds of the records that no sweep returned: a record is unresolved, released or late only if a sweep has ended its hold.
 */
function toLosses(
  calls: readonly RecordedCall[],
  own: readonly RecordedCall[],
  context: AccountContext,
): AccountStep[] {
  const { caller, entries, safeNs, losesReplies } = context;
  const known = answeredOf(calls, "sweep").flatMap((sweep) => {
    const swept = sweep.result.filter((entry) => entry.caller === caller);
    return swept.length === 0 ? [] : [{ sweep, swept }];
  });
  const sure = known.map(({ sweep, swept }): AccountStep => {
    const safe = swept.filter(({ id }) => isLeftAlone(id, sweep, own, safeNs));
    const ofAlive = safe.map(({ id }) => `, ${id} is a hold of a process that is alive`).join("");
    return {
      label: `${describe({ ...sweep, result: swept })}${ofAlive}`,
      begin: sweep.begin,
      end: sweep.end,
      isSure: true,
      apply: (account) => (safe.length > 0 ? undefined : loseAll(account, swept, context)),
    };
  });
  const ids = new Set(known.flatMap(({ swept }) => swept.map(({ id }) => id)));
  const others = entries.filter(({ id, state, isLate }) => !ids.has(id) && (state !== "settled" || isLate));
  const unknown = callsOf(calls, "sweep").filter(({ result }) => losesReplies || result === undefined);
  const begin = Math.min(...unknown.map((sweep) => sweep.begin));
  // One sweep has ended all of them at once.
  const groups = unknown.length === 1 ? [others] : others.map((entry) => [entry]);
  const unsure = groups.map(
    (group): AccountStep => ({
      label: `a sweep that did not return ${group.map(({ id }) => id).join(", ")}`,
      begin,
      end: Number.POSITIVE_INFINITY,
      isSure: false,
      apply: (account) =>
        loseAll(
          account,
          group.map(({ id }) => ({ id })),
          context,
        ),
    }),
  );
  return [...sure, ...unsure];
}

/** Ends holds, with these charges if they are known. */
function loseAll(
  account: CallerAccount,
  entries: readonly (Pick<OutboxEntry, "id"> & Partial<OutboxEntry>)[],
  { onLost }: AccountContext,
): CallerAccount | undefined {
  let after: CallerAccount | undefined = account;
  for (const { id, charge } of entries) {
    after = after && lose(after, id, onLost);
    const request = after?.requests.get(id);
    if (request?.state !== "unresolved") return undefined;
    if (charge !== undefined && request.charge !== BigInt(charge)) return undefined;
  }
  return after;
}

/**
 * Whether a sweep must leave a hold alone. A process keeps its own holds until their time is over, and the sweeps of others leave it
 * alone while its lease lasts, which it has renewed with the hold.
 */
function isLeftAlone(
  id: string,
  sweep: CallOf<"sweep">,
  own: readonly RecordedCall[],
  safeNs: number,
): boolean {
  if (sweep.process === FINAL_PROCESS || safeNs === 0) return false;
  const makers = callsOf(own, "hold").filter(({ input, begin }) => input.id === id && begin <= sweep.end);
  return makers.every(({ process, begin, input }) =>
    process === sweep.process ? input.ttlMs > 0 : sweep.end < begin + safeNs,
  );
}
