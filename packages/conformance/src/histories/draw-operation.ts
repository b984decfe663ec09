import { createRandom, type Random } from "../fleet-simulation/create-random.ts";
import type { Operation, ResultOf } from "./history.ts";

/*
 * What a client does. The callers change every `STEPS_PER_EPOCH` steps, so that the history of each stays short. Most requests are made
 * and ended by one client; now and then a client ends or repeats a request of another one.
 *
 * The holds of the caller `bank` are small, and its budget covers a few of them. Those of `sums` are powers of four: each digit of a
 * balance says what became of one request. So a wrong balance is never right by chance.
 */

const STEPS_PER_EPOCH = 30;
/** The callers of an epoch. */
const KINDS = ["bank", "sums"] as const;
/** The callers with a stored budget. */
export const BUDGETS: Readonly<Record<string, number>> = {
  "caller-a": 12,
  "caller-b": 9,
  "caller-c": 6,
  "caller-d": 3,
};
const BUDGET_CALLERS = Object.keys(BUDGETS);

/** A client of a fleet. */
export interface ClientPlan {
  readonly seed: number;
  /** A number of its own, from 0 to below `clients`. */
  readonly client: number;
  /** How many clients there are. */
  readonly clients: number;
  /** The longest pause of the client, in milliseconds. It makes one now and then. */
  readonly pauseMs: number;
  /** Whether the client reads the outbox. Only one of all may, because a read leases the entries for a moment. */
  readonly hasLists: boolean;
}

/** Draws the operations of a client. */
export interface Drawer {
  /** The time until the next operation, in milliseconds. Mostly 0. */
  drawPauseMs(): number;
  next(step: number): Operation;
  /** Learns how an operation ended. `undefined`: it is unknown. */
  learn(operation: Operation, result: ResultOf<Operation["kind"]> | undefined): void;
}

interface OpenRequest {
  readonly id: string;
  readonly caller: string;
  readonly at: number;
}

/** @param firstStep the first step that is drawn */
export function createDrawer(
  { seed, client, clients, pauseMs, hasLists }: ClientPlan,
  firstStep: number,
): Drawer {
  const random = createRandom(seed, `client ${client} from ${firstStep}`);
  /** Requests of this client whose hold may be open. */
  const open: OpenRequest[] = [];
  /** Operations that follow. */
  const queue: Operation[] = [];
  let epoch = -1;
  /** The number of its requests in this epoch, less one. */
  let made = -1;
  let budget = 9;

  const draw = (step: number): Operation => {
    if (epoch !== Math.floor(step / STEPS_PER_EPOCH)) made = -1;
    epoch = Math.floor(step / STEPS_PER_EPOCH);
    const caller = `${pick(random, KINDS)}-${epoch}`;
    const kind = pickWeighted(random);
    if (kind === "new") {
      made += 1;
      const request = toRequest(caller, made * clients + client);
      // Now and then a client forgets its request.
      if (random() < 0.92) open.push(request);
      return holdOf(request);
    }
    if (kind === "end") {
      const [own] = open.splice(Math.floor(random() * open.length), 1);
      return own === undefined ? { kind: "balance", input: { caller } } : endOf(own);
    }
    if (kind === "other") {
      const other = toRequest(
        caller,
        Math.floor(random() * (made + 2)) * clients + Math.floor(random() * clients),
      );
      return random() < 0.2 ? holdOf(other) : endOf(other);
    }
    if (kind === "transfer") {
      const amount = 1 + Math.floor(random() * 2);
      const [from, to] = [pick(random, BUDGET_CALLERS), pick(random, BUDGET_CALLERS)];
      queue.push({ kind: "changeBudget", input: { caller: to, difference: amount } });
      return { kind: "changeBudget", input: { caller: from, difference: -amount } };
    }
    if (kind === "readBudget") return { kind, input: { caller: pick(random, BUDGET_CALLERS) } };
    if (kind === "sweep" || (kind === "list" && hasLists)) return { kind, input: null };
    return { kind: kind === "balance" ? kind : "records", input: { caller } };
  };

  const holdOf = ({ id, caller, at }: OpenRequest): Operation => ({
    kind: "hold",
    input: {
      id,
      caller,
      amount: isBank(caller) ? String(1 + (at % 3)) : String(2n * 4n ** BigInt(at)),
      ...(isBank(caller) && { budget: String(budget) }),
      ttlMs: random() < 0.15 ? 0 : 60_000,
    },
  });
  const endOf = ({ id, caller, at }: OpenRequest): Operation => {
    if (random() < 0.25) return { kind: "release", input: { id, caller } };
    // In the bank nearly all charges are those of the hold, or less. The others are less or more.
    const charge = isBank(caller)
      ? BigInt(random() < 0.8 ? 1 + (at % 3) : random() < 0.8 ? 0 : 4)
      : (random() < 0.5 ? 1n : 3n) * 4n ** BigInt(at);
    const settlement: Operation = { kind: "settle", input: { id, caller, charge: String(charge) } };
    if (random() < 0.1) queue.push(settlement);
    return settlement;
  };

  return {
    drawPauseMs: () => (random() < 0.15 ? random() * pauseMs : 0),
    next: (step) => queue.shift() ?? draw(step),
    learn: (operation, result) => {
      if (operation.kind === "readBudget" && result !== undefined) budget = Math.max(0, Number(result));
      // A gateway releases a hold that failed.
      if (operation.kind === "hold" && result === undefined) {
        const { id, caller } = operation.input;
        queue.push({ kind: "release", input: { id, caller } });
      }
    },
  };
}

const isBank = (caller: string): boolean => caller.startsWith("bank");
const toRequest = (caller: string, at: number): OpenRequest => ({ id: `${caller}-${at}`, caller, at });

/** In percent. */
const WEIGHTS = [
  ["new", 30],
  ["end", 28],
  ["other", 8],
  ["balance", 9],
  ["records", 4],
  ["list", 8],
  ["sweep", 5],
  ["transfer", 4],
  ["readBudget", 4],
] as const;

function pickWeighted(random: Random): (typeof WEIGHTS)[number][0] {
  let left = random() * 100;
  for (const [kind, weight] of WEIGHTS) {
    left -= weight;
    if (left < 0) return kind;
  }
  return "balance";
}

function pick<T>(random: Random, list: readonly T[]): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new RangeError("The list is empty.");
  return item;
}
