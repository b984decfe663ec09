import { setImmediate as nextTurn } from "node:timers/promises";
import type { UsageRecord } from "@calotype/core/billing";
import type { Balance, HoldRecord } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { checkHistory } from "./check-history.js";
import type { ClientLedger } from "./run-client.js";
import { type Round, runRound } from "./run-round.js";

/*
 * Ledgers with one mistake each, in random use by four clients. The checks must find each mistake in what the clients were told.
 */

const ROUND: Round = {
  ledger: "memory",
  seed: 1,
  onLost: "release",
  processes: 1,
  isSpawned: false,
  clients: 4,
  steps: 150,
  faults: [],
};

/** Balances to which a mistake can add. */
interface WrongBalances {
  readonly add: (caller: string, field: keyof Balance, amount: string | null) => void;
  readonly balance: (caller: string) => Promise<Balance>;
}

function withBalances(ledger: ClientLedger): WrongBalances {
  const extra = new Map<string, { settled: bigint; held: bigint }>();
  const of = (caller: string) => extra.get(caller) ?? { settled: 0n, held: 0n };
  return {
    add: (caller, field, amount) => {
      extra.set(caller, { ...of(caller), [field]: of(caller)[field] + BigInt(amount ?? 0) });
    },
    balance: async (caller) => {
      const { settled, held } = await ledger.balance(caller);
      return {
        settled: String(BigInt(settled) + of(caller).settled),
        held: String(BigInt(held) + of(caller).held),
      };
    },
  };
}

/** True for every n-th call. */
function every(n: number): () => boolean {
  let calls = 0;
  return () => ++calls % n === 0;
}

/** Reads the records of a caller every other time. */
function keepRecords(ledger: ClientLedger): Pick<ClientLedger, "records"> {
  const kept = new Map<string | undefined, readonly UsageRecord[]>();
  const isFresh = every(2);
  return {
    records: async function* (filter) {
      const known = isFresh() ? undefined : kept.get(filter?.caller);
      const records = known ?? (await readRecords(ledger, filter));
      kept.set(filter?.caller, records);
      yield* records;
    },
  };
}

const MISTAKES: Readonly<Record<string, (ledger: ClientLedger) => Partial<ClientLedger>>> = {
  "an acknowledged settlement is not written": (ledger) => {
    const isLost = every(40);
    return { settle: async (record) => (isLost() ? { isLate: false } : await ledger.settle(record)) };
  },
  "a repeated settlement is charged again": (ledger) => {
    const { add, balance } = withBalances(ledger);
    const known = new Set<string>();
    return {
      balance,
      settle: async (record) => {
        if (known.has(record.id)) add(record.caller, "settled", record.charge);
        known.add(record.id);
        return await ledger.settle(record);
      },
    };
  },
  "a repeated hold counts again": (ledger) => {
    const { add, balance } = withBalances(ledger);
    const known = new Set<string>();
    return {
      balance,
      hold: async (hold) => {
        const result = await ledger.hold(hold);
        if (known.has(hold.id)) add(hold.caller, "held", hold.amount);
        known.add(hold.id);
        return result;
      },
    };
  },
  "a balance is read from a cache": (ledger) => {
    const cache = new Map<string, Balance>();
    const isStale = every(3);
    return {
      balance: async (caller) => {
        const known = isStale() ? cache.get(caller) : undefined;
        const balance = known ?? (await ledger.balance(caller));
        cache.set(caller, balance);
        return balance;
      },
    };
  },
  "a balance is read in two steps": (ledger) => ({
    balance: async (caller) => {
      const { settled } = await ledger.balance(caller);
      await nextTurn();
      return { settled, held: (await ledger.balance(caller)).held };
    },
    // Other clients run meanwhile.
    settle: async (record) => {
      await nextTurn();
      return await ledger.settle(record);
    },
  }),
  "the check of a budget and the hold are two steps": (ledger) => ({
    hold: async (hold) => {
      const balance = await ledger.balance(hold.caller);
      await nextTurn();
      const isOver =
        hold.budget !== undefined &&
        BigInt(balance.settled) + BigInt(balance.held) + BigInt(hold.amount ?? 0) > BigInt(hold.budget);
      return isOver ? { ok: false, balance } : await ledger.hold({ ...hold, budget: undefined });
    },
  }),
  "a hold that is refused is visible until it is taken back": (ledger) => {
    const { add, balance } = withBalances(ledger);
    return {
      balance: async (caller) => {
        await nextTurn();
        return await balance(caller);
      },
      hold: async (hold) => {
        const result = await ledger.hold(hold);
        if (result.ok) return result;
        add(hold.caller, "held", hold.amount);
        await nextTurn();
        add(hold.caller, "held", `-${hold.amount}`);
        return result;
      },
    };
  },
  "a release does not free the money": (ledger) => {
    const { add, balance } = withBalances(ledger);
    const amounts = new Map<string, HoldRecord>();
    const isForgotten = every(10);
    return {
      balance,
      hold: async (hold) => {
        amounts.set(hold.id, hold);
        return await ledger.hold(hold);
      },
      release: async (id) => {
        const hold = amounts.get(id);
        if (hold !== undefined && isForgotten()) add(hold.caller, "held", hold.amount);
        await ledger.release(id);
      },
    };
  },
  "a sweep ends holds of requests that run": (ledger) => ({
    sweep: async (options) => await ledger.sweep({ ...options, own: true }),
  }),
  "a sweep charges what should cost nothing": (ledger) => ({
    sweep: async (options) => await ledger.sweep({ ...options, onLost: "charge" }),
  }),
  "a late settlement does not say so": (ledger) => ({
    settle: async (record) => {
      await ledger.settle(record);
      return { isLate: false };
    },
  }),
  "a settlement changes the balance and writes no entry in the outbox": (ledger) => {
    const isLost = every(40);
    return {
      settle: async (record) => {
        const result = await ledger.settle(record);
        if (isLost()) await ledger.markDelivered([record]);
        return result;
      },
    };
  },
  "entries of the outbox change their order": (ledger) => {
    const isWrong = every(5);
    return {
      outbox: {
        ...ledger.outbox,
        leaseInOrder: async (options) => {
          const records = await ledger.outbox.leaseInOrder(options);
          return isWrong() ? records.toReversed() : records;
        },
      },
    };
  },
  "a page of records is read from a cache": keepRecords,
  "a page has a record before it is stored": (ledger) => {
    const coming = new Map<string, Parameters<ClientLedger["settle"]>[0]>();
    return {
      settle: async (record) => {
        coming.set(record.id, record);
        await nextTurn();
        coming.delete(record.id);
        return await ledger.settle(record);
      },
      records: async function* (filter) {
        const seen = new Set<string>();
        for await (const record of ledger.records(filter)) {
          seen.add(record.id);
          yield record;
        }
        for (const record of coming.values()) {
          if (record.caller === filter?.caller && !seen.has(record.id)) yield record;
        }
      },
    };
  },
  "two changes of a caller overwrite each other": (ledger) => ({
    callers: {
      ...ledger.callers,
      change: async (id, change) => {
        const before = await ledger.callers.find(id);
        await nextTurn();
        return await ledger.callers.change(id, (_, now) => {
          if (before === undefined) throw new Error("There is such a caller.");
          return change(before, now);
        });
      },
    },
  }),
};

const NO_ORDER = "No order explains the results";
const CYCLE = "Calls precede each other in a cycle";

/** One of the rules that are broken, if it is not {@link NO_ORDER}. */
const FOUND: Readonly<Record<string, string>> = {
  "an acknowledged settlement is not written": "An acknowledged settlement is lost",
  "a settlement changes the balance and writes no entry in the outbox": "An acknowledged settlement is lost",
  "entries of the outbox change their order": "A list is in another order at the end",
  "a page of records is read from a cache": CYCLE,
  "a page has a record before it is stored": CYCLE,
};

describe("a ledger with a mistake", () => {
  it.each(Object.entries(MISTAKES))("is found: %s", async (name, change) => {
    const { history, problems } = await runRound(ROUND, (ledger) => ({ ...ledger, ...change(ledger) }));
    const found = [...problems, ...checkHistory(history).problems];
    const rules = found.map((problem) => problem.split(/: |\n/, 1)[0]);
    expect(rules).toContain(FOUND[name] ?? NO_ORDER);
  });

  it("is not found if it makes none", async () => {
    const { history, problems } = await runRound(ROUND);
    expect(problems).toEqual([]);
    expect(checkHistory(history)).toEqual({ problems: [], undecided: [] });
  });
});
