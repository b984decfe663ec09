import { describe, expect, it } from "vitest";
import { checkHistory } from "./check-history.js";
import type { CallKind, History, InputOf, OutboxEntry, RecordedCall, ResultOf } from "./history.js";

/** A call from `begin` to `end`. Without a result, nothing is known of its end. */
function callOf<Kind extends CallKind>(
  [begin, end]: readonly [number, number],
  kind: Kind,
  input: InputOf<Kind>,
  result?: ResultOf<Kind>,
): RecordedCall {
  const times = {
    process: `p${begin % 2}`,
    begin,
    end: result === undefined ? Number.POSITIVE_INFINITY : end,
  };
  return { ...times, kind, input, ...(result !== undefined && { result }) } as RecordedCall;
}

const caller = "me";
const holdOf = (id: string, amount: string, budget?: string): InputOf<"hold"> => ({
  id,
  caller,
  amount,
  ttlMs: 60_000,
  ...(budget !== undefined && { budget }),
});
const chargeOf = (id: string, charge: string): InputOf<"settle"> => ({ id, caller, charge });
const settled = (id: string, charge: string, isLate = false): OutboxEntry => ({
  id,
  caller,
  state: "settled",
  charge,
  isLate,
});
const unresolved = (id: string, charge = "0"): OutboxEntry => ({
  id,
  caller,
  state: "unresolved",
  charge,
  isLate: false,
});
const GRANTED = { isGranted: true };
const ON_TIME = { isLate: false };

/** The reads of the final process. */
const endOf = (records: readonly OutboxEntry[], list = records): RecordedCall[] =>
  [
    callOf(
      [900, 901],
      "records",
      { caller },
      records.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    ),
    callOf([902, 903], "list", null, list),
  ].map((call) => ({ ...call, process: "final" }));

const check = (calls: readonly RecordedCall[], rest: Partial<History> = {}) =>
  checkHistory({ calls, onLost: "release", safeNs: 0, losesReplies: false, budgets: {}, ...rest });

/** The problems without their details. */
const find = (calls: readonly RecordedCall[], rest?: Partial<History>): string[] => [
  ...new Set(check(calls, rest).problems.map((problem) => problem.split(/: |\n/, 1)[0] ?? "")),
];

const NO_ORDER = "No order explains the results";
const CYCLE = "Calls precede each other in a cycle";

describe("histories with a serial order", () => {
  it.each<[string, RecordedCall[], Partial<History>?]>([
    [
      "a hold and its settlement",
      [
        callOf([0, 10], "hold", holdOf("a", "2", "2"), GRANTED),
        callOf([11, 12], "balance", { caller }, { settled: "0", held: "2" }),
        callOf([13, 20], "settle", chargeOf("a", "1"), ON_TIME),
        callOf([21, 22], "balance", { caller }, { settled: "1", held: "0" }),
        ...endOf([settled("a", "1")]),
      ],
    ],
    [
      "calls that overlap, in the order that their results need",
      [
        callOf([0, 50], "hold", holdOf("a", "2", "3"), GRANTED),
        callOf([1, 40], "hold", holdOf("b", "2", "3"), {
          isGranted: false,
          balance: { settled: "0", held: "2" },
        }),
        callOf([2, 45], "balance", { caller }, { settled: "0", held: "0" }),
        callOf([60, 61], "release", { id: "a", caller }, null),
        ...endOf([]),
      ],
    ],
    [
      "a hold again while its release overlaps: it is made after the release, and changes nothing before it",
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([10, 20], "release", { id: "a", caller }, null),
        callOf([11, 21], "hold", holdOf("a", "2"), GRANTED),
        callOf([30, 31], "balance", { caller }, { settled: "0", held: "2" }),
        callOf([40, 41], "release", { id: "a", caller }, null),
        ...endOf([]),
      ],
    ],
    [
      "a hold without a result that is made much later",
      [
        callOf([0, 1], "hold", holdOf("a", "2")),
        callOf([10, 11], "balance", { caller }, { settled: "0", held: "0" }),
        callOf([20, 21], "balance", { caller }, { settled: "0", held: "2" }),
        callOf([30, 31], "release", { id: "a", caller }, null),
        ...endOf([]),
      ],
    ],
    [
      "a settlement without a result that never happens",
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([2, 3], "settle", chargeOf("a", "2")),
        callOf([800, 810], "sweep", null, [unresolved("a")]),
        ...endOf([unresolved("a")]),
      ],
    ],
    [
      "a hold that a sweep without a result has ended, and its late settlement",
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([2, 3], "sweep", null),
        callOf([10, 11], "balance", { caller }, { settled: "0", held: "0" }),
        callOf([20, 21], "settle", chargeOf("a", "2"), { isLate: true }),
        ...endOf([settled("a", "2", true)]),
      ],
    ],
    [
      "a list that a later state moves a record to the end of",
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([2, 3], "sweep", null, [unresolved("a")]),
        callOf([4, 5], "settle", chargeOf("b", "1"), ON_TIME),
        callOf([6, 7], "list", null, [unresolved("a"), settled("b", "1")]),
        callOf([8, 9], "settle", chargeOf("a", "2"), { isLate: true }),
        ...endOf([settled("a", "2", true), settled("b", "1")], [settled("b", "1"), settled("a", "2", true)]),
      ],
    ],
    [
      "changes of a budget that overlap",
      [
        callOf([0, 10], "changeBudget", { caller, difference: 3 }, 7),
        callOf([1, 9], "changeBudget", { caller, difference: -1 }, 4),
        callOf([2, 3], "readBudget", { caller }, 4),
        ...endOf([]),
      ],
      { budgets: { me: 5 } },
    ],
  ])("%s", (_name, calls, rest) => {
    expect(check(calls, rest)).toEqual({ problems: [], undecided: [] });
  });
});

describe("histories without a serial order", () => {
  it.each<[string, string[], RecordedCall[], Partial<History>?]>([
    [
      "lost update: of two holds, one is missing in the balance",
      [NO_ORDER],
      [
        callOf([0, 10], "hold", holdOf("a", "2"), GRANTED),
        callOf([1, 11], "hold", holdOf("b", "1"), GRANTED),
        callOf([20, 21], "balance", { caller }, { settled: "0", held: "1" }),
        callOf([30, 31], "release", { id: "a", caller }, null),
        callOf([32, 33], "release", { id: "b", caller }, null),
        ...endOf([]),
      ],
    ],
    [
      "doubled settlement: a repeated settlement is charged again",
      [NO_ORDER],
      [
        callOf([0, 1], "settle", chargeOf("a", "2"), ON_TIME),
        callOf([2, 3], "settle", chargeOf("a", "2"), ON_TIME),
        callOf([4, 5], "balance", { caller }, { settled: "4", held: "0" }),
        ...endOf([settled("a", "2")]),
      ],
    ],
    [
      "stale read: the balance before a settlement that has ended",
      [NO_ORDER],
      [
        callOf([0, 1], "settle", chargeOf("a", "2"), ON_TIME),
        callOf([2, 3], "balance", { caller }, { settled: "0", held: "0" }),
        ...endOf([settled("a", "2")]),
      ],
    ],
    [
      "a balance that goes back: two reads see a settlement that has not ended, and then do not",
      [NO_ORDER],
      [
        callOf([0, 100], "settle", chargeOf("a", "2"), ON_TIME),
        callOf([10, 11], "balance", { caller }, { settled: "2", held: "0" }),
        callOf([20, 21], "balance", { caller }, { settled: "0", held: "0" }),
        ...endOf([settled("a", "2")]),
      ],
    ],
    [
      "torn read: the charge of a settlement is there, and its hold too",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([10, 30], "settle", chargeOf("a", "2"), ON_TIME),
        callOf([11, 20], "balance", { caller }, { settled: "2", held: "2" }),
        ...endOf([settled("a", "2")]),
      ],
    ],
    [
      "a hold counted twice",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([2, 3], "hold", holdOf("a", "2"), GRANTED),
        callOf([4, 5], "balance", { caller }, { settled: "0", held: "4" }),
        callOf([6, 7], "release", { id: "a", caller }, null),
        ...endOf([]),
      ],
    ],
    [
      "write skew: two holds that fit alone are both granted",
      [NO_ORDER],
      [
        callOf([0, 10], "hold", holdOf("a", "2", "3"), GRANTED),
        callOf([1, 11], "hold", holdOf("b", "2", "3"), GRANTED),
        ...endOf([]),
      ],
    ],
    [
      "a refusal without a reason",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2", "3"), {
          isGranted: false,
          balance: { settled: "0", held: "0" },
        }),
        ...endOf([]),
      ],
    ],
    [
      "dirty read: the balance with a hold that was refused",
      [NO_ORDER],
      [
        callOf([0, 10], "hold", holdOf("a", "2", "1"), {
          isGranted: false,
          balance: { settled: "0", held: "0" },
        }),
        callOf([1, 9], "balance", { caller }, { settled: "0", held: "2" }),
        ...endOf([]),
      ],
    ],
    [
      "a hold without a result that is made after its release by the same process",
      [NO_ORDER],
      [
        { ...callOf([0, 1], "hold", holdOf("a", "2")), rejectedAt: 5 },
        callOf([10, 11], "release", { id: "a", caller }, null),
        callOf([20, 21], "balance", { caller }, { settled: "0", held: "2" }),
        ...endOf([]),
      ],
    ],
    [
      "a sweep that ends a hold of a process that is alive",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([3, 4], "sweep", null, [unresolved("a")]),
        ...endOf([unresolved("a")]),
      ],
      { safeNs: 100 },
    ],
    [
      "two sweeps that end the same hold",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([3, 4], "sweep", null, [unresolved("a")]),
        callOf([5, 6], "sweep", null, [unresolved("a")]),
        ...endOf([unresolved("a")]),
      ],
    ],
    [
      "a late settlement that does not say so",
      [NO_ORDER],
      [
        callOf([0, 1], "hold", holdOf("a", "2"), GRANTED),
        callOf([2, 3], "sweep", null, [unresolved("a")]),
        callOf([4, 5], "settle", chargeOf("a", "2"), ON_TIME),
        ...endOf([settled("a", "2", true)]),
      ],
    ],
    [
      "lost change of a budget",
      [NO_ORDER],
      [
        callOf([0, 10], "changeBudget", { caller, difference: 3 }, 8),
        callOf([1, 9], "changeBudget", { caller, difference: -1 }, 4),
        ...endOf([]),
      ],
      { budgets: { me: 5 } },
    ],
    [
      "lost append: an acknowledged settlement has no record at the end",
      ["An acknowledged settlement is lost", NO_ORDER],
      [callOf([0, 1], "settle", chargeOf("a", "2"), ON_TIME), ...endOf([])],
    ],
    ["a record of nobody", ["A record that no call has stored", NO_ORDER], endOf([settled("a", "2")])],
    [
      "dirty read: a record that is gone at the end",
      ["A read saw a record that is gone at the end", NO_ORDER],
      [
        callOf([0, 1], "settle", chargeOf("a", "2")),
        callOf([2, 3], "records", { caller }, [settled("a", "2")]),
        ...endOf([]),
      ],
    ],
    [
      "reordered append",
      ["A list is in another order at the end"],
      [
        callOf([0, 10], "settle", chargeOf("a", "1"), ON_TIME),
        callOf([1, 11], "settle", chargeOf("b", "1"), ON_TIME),
        callOf([20, 21], "list", null, [settled("a", "1"), settled("b", "1")]),
        ...endOf([settled("a", "1"), settled("b", "1")], [settled("b", "1"), settled("a", "1")]),
      ],
    ],
    [
      "a list whose order is not that of the settlements",
      [CYCLE],
      [
        callOf([0, 1], "settle", chargeOf("a", "1"), ON_TIME),
        callOf([2, 3], "settle", chargeOf("b", "1"), ON_TIME),
        ...endOf([settled("a", "1"), settled("b", "1")], [settled("b", "1"), settled("a", "1")]),
      ],
    ],
    [
      "stale list: without a settlement that has ended",
      [CYCLE],
      [
        callOf([0, 1], "settle", chargeOf("a", "1"), ON_TIME),
        callOf([2, 3], "list", null, []),
        ...endOf([settled("a", "1")]),
      ],
    ],
    [
      "long fork: two reads see two settlements in different orders",
      [NO_ORDER, CYCLE],
      [
        callOf([0, 100], "settle", chargeOf("a", "1"), ON_TIME),
        callOf([1, 101], "settle", chargeOf("b", "1"), ON_TIME),
        callOf([10, 50], "records", { caller }, [settled("a", "1")]),
        callOf([11, 51], "records", { caller }, [settled("b", "1")]),
        ...endOf([settled("a", "1"), settled("b", "1")]),
      ],
    ],
    [
      "read skew: a read of all lists sees the later of two settlements of different callers",
      [CYCLE],
      [
        callOf([0, 1], "settle", { id: "a", caller: "one", charge: "1" }, ON_TIME),
        callOf([2, 3], "settle", { id: "b", caller: "two", charge: "1" }, ON_TIME),
        callOf([1, 50], "list", null, [{ ...settled("b", "1"), caller: "two" }]),
        callOf([902, 903], "list", null, [
          { ...settled("a", "1"), caller: "one" },
          { ...settled("b", "1"), caller: "two" },
        ]),
      ],
    ],
  ])("%s", (_name, problems, calls, rest) => {
    expect(find(calls, rest).toSorted()).toEqual(problems.toSorted());
  });

  it("names the calls of a cycle", () => {
    const [problem] = check([
      callOf([0, 1], "settle", chargeOf("a", "1"), ON_TIME),
      callOf([2, 3], "list", null, []),
      ...endOf([settled("a", "1")]),
    ]).problems;
    expect(problem).toContain("the append of a settled");
    expect(problem).toContain("did not see");
    expect(problem).toContain("ended before");
  });
});
