import type { Balance, LostPolicy } from "@calotype/core/stores";
import type { InputOf, OutboxEntry, ResultOf } from "./history.ts";

/** A request of an account: its hold is open, or it has a record. A request that is not in the account has neither. */
type Request =
  | { readonly state: "held"; readonly amount: bigint }
  | {
      readonly state: OutboxEntry["state"];
      readonly charge: bigint;
      readonly isLate: boolean;
      /** The amount of the hold, if a sweep has ended it. */
      readonly amount: bigint;
    };

/** The account of a caller, as the interface of ledgers describes it. It is never changed. */
export interface CallerAccount {
  readonly settled: bigint;
  readonly held: bigint;
  readonly requests: ReadonlyMap<string, Request>;
}

export const EMPTY_ACCOUNT: CallerAccount = { settled: 0n, held: 0n, requests: new Map() };

/** A string that is equal for equal accounts. The sums follow from the requests. */
export function toAccountKey(account: CallerAccount): string {
  const known = keys.get(account);
  if (known !== undefined) return known;
  const lines = Array.from(account.requests, ([id, request]) =>
    request.state === "held"
      ? `${id}:held`
      : `${id}:${request.state}:${request.charge}${request.isLate ? ":late" : ""}`,
  );
  const key = `settled ${account.settled}, held ${account.held}: ${lines.toSorted().join(" ")}`;
  keys.set(account, key);
  return key;
}

/** A search asks for the key of the same account again and again. */
const keys = new WeakMap<CallerAccount, string>();

/**
 * Each function below returns the account after a call, the same object if nothing changes, or `undefined` if the call cannot have
 * had this result. Without a result, any result is possible.
 */

export function hold(
  account: CallerAccount,
  { id, amount, budget }: InputOf<"hold">,
  result?: ResultOf<"hold">,
): CallerAccount | undefined {
  const isKnown = account.requests.has(id);
  const isGranted =
    isKnown || budget === undefined || account.settled + account.held + BigInt(amount) <= BigInt(budget);
  if (result !== undefined && result.isGranted !== isGranted) return undefined;
  if (result?.balance !== undefined && !isBalance(account, result.balance)) return undefined;
  return isKnown || !isGranted ? account : put(account, id, { state: "held", amount: BigInt(amount) });
}

export function settle(
  account: CallerAccount,
  { id, charge }: InputOf<"settle">,
  result?: ResultOf<"settle">,
): CallerAccount | undefined {
  const known = account.requests.get(id);
  if (known?.state === "settled") {
    // A settlement whose first reply was lost may say again that it was late.
    return result?.isLate === true && !known.isLate ? undefined : account;
  }
  const isLate = known?.state === "unresolved" || known?.state === "released";
  if (result !== undefined && result.isLate !== isLate) return undefined;
  return put(account, id, {
    state: "settled",
    charge: BigInt(charge),
    isLate,
    amount: known?.amount ?? 0n,
  });
}

export function release(account: CallerAccount, { id }: InputOf<"release">): CallerAccount {
  const known = account.requests.get(id);
  if (known?.state === "held") return put(account, id, undefined);
  if (known?.state !== "unresolved") return account;
  return put(account, id, { ...known, state: "released", charge: 0n });
}

/** What a sweep does with one hold. */
export function lose(account: CallerAccount, id: string, onLost: LostPolicy): CallerAccount | undefined {
  const known = account.requests.get(id);
  if (known?.state !== "held") return undefined;
  const { amount } = known;
  return put(account, id, {
    state: "unresolved",
    charge: onLost === "charge" ? amount : 0n,
    isLate: false,
    amount,
  });
}

export function readBalance(account: CallerAccount, balance: ResultOf<"balance">): CallerAccount | undefined {
  return isBalance(account, balance) ? account : undefined;
}

export function readRecords(account: CallerAccount, records: ResultOf<"records">): CallerAccount | undefined {
  const kept = [...account.requests].filter(([, { state }]) => state !== "held");
  const isSame =
    kept.length === records.length &&
    records.every(({ id, state, charge, isLate }) => {
      const known = account.requests.get(id);
      return (
        known !== undefined &&
        known.state !== "held" &&
        known.state === state &&
        known.charge === BigInt(charge) &&
        known.isLate === isLate
      );
    });
  return isSame ? account : undefined;
}

const isBalance = ({ settled, held }: CallerAccount, balance: Balance): boolean =>
  settled === BigInt(balance.settled) && held === BigInt(balance.held);

/** Replaces a request, and what it adds to the sums. */
function put(account: CallerAccount, id: string, request: Request | undefined): CallerAccount {
  const before = toSums(account.requests.get(id));
  const after = toSums(request);
  const requests = new Map(account.requests);
  if (request === undefined) requests.delete(id);
  else requests.set(id, request);
  return {
    settled: account.settled - before.settled + after.settled,
    held: account.held - before.held + after.held,
    requests,
  };
}

function toSums(request: Request | undefined): Pick<CallerAccount, "settled" | "held"> {
  if (request === undefined) return { settled: 0n, held: 0n };
  return request.state === "held"
    ? { settled: 0n, held: request.amount }
    : { settled: request.charge, held: 0n };
}
