import { GatewayError } from "@calotype/core";
import type { CallerRow, CallerRows, CallerSort, CallerSummary } from "../wire.js";
import {
  addBudgets,
  addLimits,
  type BudgetedCaller,
  type ListedCaller,
  shareOf,
  toRow,
} from "./caller-rows.js";
import type { ApiParts, StudioGateway } from "./route.js";

/** Which callers to show, and in which order. */
export interface CallerQuery {
  readonly sort: CallerSort;
  /** A part of the id, or of the group. */
  readonly q: string;
  readonly group: string | undefined;
  readonly state: State | undefined;
  /** From 1. */
  readonly page: number;
}

type State = CallerRow["state"];

const SORTS = ["budget", "spent", "id"] as const satisfies readonly CallerSort[];
const STATES = ["fixed", "active", "user", "revoked", "damaged"] as const satisfies readonly State[];
const PAGE_SIZE = 50;
/** The gateway lists at most this many at once. */
const LISTED_AT_ONCE = 1_000;
/** To sort by budget, all callers have to be read. Those beyond this number are not shown. */
const MAX_LISTED = 50_000;
/**
 * How long a list is used, by all who look at it: ten times as long as it took to read, and at most this time. So many open
 * pages use a tenth of the ledger's time at most, and a short list is always new.
 */
const MAX_FRESH_MS = 4_000;
/** A budget of which this part is charged or held is nearly used up. */
const NEAR = 0.8;

/** @throws GatewayError that names the field */
export function readCallerQuery(query: URLSearchParams): CallerQuery {
  const page = Number(query.get("page") ?? "1");
  if (!Number.isSafeInteger(page) || page < 1) throw invalid("page must be a whole number from 1.", "page");
  const q = query.get("q") ?? "";
  if (q.length > 512) throw invalid("q must have at most 512 characters.", "q");
  return {
    sort: readOne(query, "sort", SORTS) ?? "budget",
    q: q.trim().toLowerCase(),
    group: query.get("group") ?? undefined,
    state: readOne(query, "state", STATES),
    page,
  };
}

/** Lists the callers of the options and those of the ledger that match. A page beyond the last one is the last one. */
export async function listCallers(parts: ApiParts, query: CallerQuery): Promise<CallerRows> {
  const { sorted, ...facts } = await readAllCallers(parts);
  const matching = sorted[query.sort].filter(createMatcher(query));
  const pages = Math.max(1, Math.ceil(matching.length / PAGE_SIZE));
  const start = (Math.min(query.page, pages) - 1) * PAGE_SIZE;
  const callers = await Promise.all(
    matching.slice(start, start + PAGE_SIZE).map((budgeted) => addLimits(parts, budgeted)),
  );
  return { callers, matching: matching.length, pages, ...facts };
}

/** Finds a caller of the options, one of the ledger, or a signed-in user, and describes it. */
export async function findRow(parts: ApiParts, id: string): Promise<CallerRow | undefined> {
  const { gateway } = parts;
  const fixed = (await listFixed(gateway)).find((caller) => caller.id === id);
  const listed = fixed ?? (await orUndefined(() => gateway.callers.find(id)));
  if (listed !== undefined) return await toRow(parts, listed);
  const { sorted } = await readAllCallers(parts);
  const user = sorted.id.find(({ caller }) => caller.id === id && stateOf(caller) === "user");
  return user && (await addLimits(parts, user));
}

/** All callers with their budgets, in each order. */
interface AllCallers extends Pick<CallerRows, "isCut" | "canCreate" | "hasUsers" | "summary" | "groups"> {
  readonly sorted: Readonly<Record<CallerSort, readonly BudgetedCaller[]>>;
}

const remembered = new WeakMap<
  StudioGateway,
  { readonly until: number; readonly all: Promise<AllCallers> }
>();

/** Makes the next list show a change. */
export function forgetCallers(gateway: StudioGateway): void {
  remembered.delete(gateway);
}

function readAllCallers(parts: ApiParts): Promise<AllCallers> {
  const { gateway } = parts;
  const known = remembered.get(gateway);
  if (known !== undefined && performance.now() < known.until) return known.all;
  const beganAt = performance.now();
  const all = readAnew(parts);
  remembered.set(gateway, { until: Infinity, all });
  const keep = (ms: number): void => {
    // A change may have come in between.
    if (remembered.get(gateway)?.all === all) remembered.set(gateway, { until: performance.now() + ms, all });
  };
  all.then(
    () => keep(Math.min(MAX_FRESH_MS, 10 * (performance.now() - beganAt))),
    // What failed is not remembered.
    () => keep(-Infinity),
  );
  return all;
}

async function readAnew(parts: ApiParts): Promise<AllCallers> {
  const fixed = await listFixed(parts.gateway);
  const callers: BudgetedCaller[] = [...(await addBudgets(parts, fixed))];
  const first = await listStored(parts.gateway, undefined);
  let page = first;
  while (page !== undefined) {
    callers.push(...(await addBudgets(parts, page.callers)));
    if (page.next === undefined || callers.length >= MAX_LISTED) break;
    page = await listStored(parts.gateway, page.next);
  }
  const { users, isCut } = await readUsers(parts.gateway);
  callers.push(...(users ?? []));
  return {
    sorted: {
      budget: sortBy(callers, toBudgetRank),
      spent: sortBy(callers, ({ spent }) => Number(spent?.settled ?? 0)),
      // The callers of the options come first.
      id: callers,
    },
    isCut: isCut || page?.next !== undefined,
    canCreate: first !== undefined,
    hasUsers: users !== undefined,
    summary: summarize(callers),
    groups: [...new Set(callers.map(({ caller }) => groupOf(caller)))]
      .filter((group) => group !== "")
      .toSorted(),
  };
}

/** Reads the users that the ledger knows, with their budgets. `users` is `undefined` if it cannot list them. */
async function readUsers(
  gateway: StudioGateway,
): Promise<{ readonly users: readonly BudgetedCaller[] | undefined; readonly isCut: boolean }> {
  const users: BudgetedCaller[] = [];
  let after: string | undefined;
  do {
    const page = await listUsers(gateway, after);
    if (page === undefined) return { users: undefined, isCut: false };
    users.push(
      ...page.users.map(({ spent, ...user }) => ({ caller: { ...user, state: "user" } as const, spent })),
    );
    after = page.next;
  } while (after !== undefined && users.length < MAX_LISTED);
  return { users, isCut: after !== undefined };
}

/** Lists a page of the signed-in users. `undefined` if the ledger cannot. */
export const listUsers = (gateway: StudioGateway, after: string | undefined) =>
  orUndefined(() => gateway.budgets.listUsers({ limit: LISTED_AT_ONCE, after }));

/** A caller with two keys has two entries in the options. The one that is still valid is shown. */
async function listFixed(gateway: StudioGateway): Promise<readonly ListedCaller[]> {
  const byId = new Map<string, ListedCaller>();
  for (const caller of await gateway.callers.fixed()) {
    const before = byId.get(caller.id);
    if (before === undefined || isExpired(before)) byId.set(caller.id, caller);
  }
  return [...byId.values()];
}

function isExpired({ expiresAt }: ListedCaller): boolean {
  return expiresAt !== undefined && new Date(expiresAt).getTime() <= Date.now();
}

/** Lists a page of the callers of the ledger. `undefined` if the ledger keeps none. */
export const listStored = (gateway: StudioGateway, after: string | undefined) =>
  orUndefined(() => gateway.callers.list({ limit: LISTED_AT_ONCE, after }));

/** A ledger that cannot do something says so with a TypeError. */
async function orUndefined<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The price group; empty for a user, whose group only the function of the app knows. */
const groupOf = (caller: ListedCaller): string =>
  stateOf(caller) === "user" ? "" : (caller.group ?? "default");

const stateOf = (caller: ListedCaller): State => ("state" in caller ? caller.state : "fixed");

/** The part of the budget that is used; callers without a budget come after it, and revoked ones last. */
function toBudgetRank({ caller, spent }: BudgetedCaller): number {
  if (stateOf(caller) === "revoked") return -2;
  return (spent && shareOf(spent)) ?? -1;
}

/** The highest first. Equal ones stay in their order. */
function sortBy(
  callers: readonly BudgetedCaller[],
  rank: (caller: BudgetedCaller) => number,
): readonly BudgetedCaller[] {
  return callers
    .map((caller) => ({ caller, value: rank(caller) }))
    .toSorted((one, other) => other.value - one.value)
    .map(({ caller }) => caller);
}

function summarize(callers: readonly BudgetedCaller[]): CallerSummary {
  const valid = callers.filter(({ caller }) => stateOf(caller) !== "revoked");
  const empty = valid.filter(({ spent }) => spent?.left === "0").length;
  const near = valid.filter(
    ({ spent }) => spent !== undefined && spent.left !== "0" && (shareOf(spent) ?? 0) >= NEAR,
  ).length;
  return { callers: valid.length, near, empty };
}

function createMatcher({ q, group, state }: CallerQuery): (caller: BudgetedCaller) => boolean {
  return ({ caller }) => {
    const itsGroup = groupOf(caller);
    return (
      (state === undefined || stateOf(caller) === state) &&
      (group === undefined || itsGroup === group) &&
      (q === "" || caller.id.toLowerCase().includes(q) || itsGroup.toLowerCase().includes(q))
    );
  };
}

function readOne<T extends string>(
  query: URLSearchParams,
  name: string,
  values: readonly T[],
): T | undefined {
  const given = query.get(name);
  if (given === null || given === "") return undefined;
  const value = values.find((known) => known === given);
  if (value === undefined) throw invalid(`${name} must be ${values.join(", ")}.`, name);
  return value;
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
