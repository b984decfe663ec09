import { describe, expect, it } from "vitest";
import { type ByteBudget, createByteBudget, type TakenBytes } from "./byte-budget.js";

interface Opened {
  readonly budget: ByteBudget;
  readonly clock: { now: number };
  /** Opens a request of a caller. */
  readonly open: (caller?: string) => TakenBytes;
}

function openBudget(maxBytes = 100, maxCallerShare = 0.5): Opened {
  const clock = { now: 0 };
  const budget = createByteBudget({ maxBytes, maxCallerShare, now: () => clock.now });
  const open = (caller = "a"): TakenBytes => {
    const opened = budget.open(caller, 0);
    if (opened === undefined) throw new Error("There is no room.");
    return opened;
  };
  return { budget, clock, open };
}

describe("a budget of bytes", () => {
  it("takes bytes up to its last, refuses one more, and takes it once bytes are given back", () => {
    const { budget, open } = openBudget();
    const first = open();
    expect(first.add(60)).toBe(true);
    expect(open().add(41)).toBe(false);
    expect(open().add(40)).toBe(true);
    expect(budget.inUse).toBe(100);
    first.release();
    expect(open().add(60)).toBe(true);
  });

  it("reserves nothing for expected bytes, and refuses bytes that do not fit now", () => {
    const { budget, open } = openBudget();
    for (let request = 0; request < 16; request++) expect(budget.open("idle", 100)).toBeDefined();
    expect(budget.inUse).toBe(0);
    open().add(60);
    expect(budget.open("a", 41)).toBeUndefined();
    expect(budget.open("a", 40)).toBeDefined();
  });

  it("counts a response that has already arrived even above its maximum", () => {
    const { budget, open } = openBudget();
    const taken = open();
    taken.add(90);
    taken.addAnyway(50);
    expect(budget.inUse).toBe(140);
    expect(budget.open("a", 0)).toBeUndefined();
    taken.release();
    expect(budget.inUse).toBe(0);
  });

  it("has bytes removed that are held no longer, and never more than were counted", () => {
    const { budget, open } = openBudget();
    const other = open();
    const taken = open();
    other.add(10);
    taken.add(50);
    taken.remove(20);
    expect(budget.inUse).toBe(40);
    taken.remove(50);
    expect(budget.inUse).toBe(10);
    taken.release();
    other.release();
    other.remove(10);
    expect(budget.inUse).toBe(0);
  });

  it("counts nothing of a request that gave its bytes back", () => {
    const { budget, open } = openBudget();
    const other = open();
    const taken = open();
    other.add(10);
    taken.add(10);
    taken.release();
    taken.release();
    expect(taken.add(1)).toBe(false);
    taken.addAnyway(1);
    taken.startReceiving();
    expect(budget.inUse).toBe(10);
    other.release();
    expect(budget.inUse).toBe(0);
  });
});

describe("one caller", () => {
  it("may hold all while no other caller waits, whatever others hold", () => {
    const { open } = openBudget();
    open("b").add(10);
    expect(open("a").add(90)).toBe(true);
  });

  it("may hold at most its share in all its requests while a body of another caller arrives", () => {
    const { open } = openBudget();
    const other = open("b");
    other.startReceiving();
    open("a").add(30);
    const taken = open("a");
    expect(taken.add(21)).toBe(false);
    expect(taken.add(20)).toBe(true);
    other.finishReceiving();
    expect(taken.add(50)).toBe(true);
  });

  it("may hold all while only its own bodies arrive", () => {
    const { open } = openBudget();
    const [first, second] = [open("a"), open("a")];
    first.startReceiving();
    second.startReceiving();
    second.startReceiving();
    expect(first.add(100)).toBe(true);
    first.release();
    second.release();
    expect(open("b").add(100)).toBe(true);
  });

  it("that was refused is let in before the other takes all again", () => {
    const { open } = openBudget();
    const [first, second, third] = [open("a"), open("a"), open("a")];
    first.add(60);
    second.add(40);
    expect(open("b").add(40)).toBe(false);
    second.release();
    expect(third.add(40)).toBe(false);
    expect(open("b").add(40)).toBe(true);
  });

  it.each([
    ["its bytes are accepted", ({ open }: Opened) => void open("b").add(1)],
    ["10 seconds later", ({ clock }: Opened) => void (clock.now += 10_000)],
  ])("no longer waits when %s", (_what, change) => {
    const opened = openBudget();
    const { budget, open } = opened;
    const taken = open("a");
    taken.add(90);
    expect(budget.open("b", 20)).toBeUndefined();
    expect(taken.add(5)).toBe(false);
    change(opened);
    // `a` was refused too, but that does not limit `a`.
    expect(taken.add(9)).toBe(true);
  });

  it("may use everything at any time with a share of 1", () => {
    const { open } = openBudget(100, 1);
    open("b").startReceiving();
    expect(open("a").add(100)).toBe(true);
  });
});
