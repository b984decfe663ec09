import {
  CALLER_STORE,
  type CallerLedger,
  type CallerStore,
  type CallerUpdate,
  type StoredCaller,
  type StoredKey,
} from "@calotype/core/stores";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type Clock, START } from "./ledger-suite/clock.js";
import { HOSTILE_STRINGS } from "./ledger-suite/hostile-strings.js";
import { itIsFound, type LedgerStore, type OpenLedger, useLedger } from "./ledger-suite/open-ledger.js";

/** The tests that apply to a ledger with callers. */
export interface CallerSuiteOptions extends LedgerStore {
  /** True if it tells the changes of other processes. Default false. */
  readonly tellsOthers?: boolean | undefined;
}

const keyOf = (digit: string, fields: Partial<StoredKey> = {}): StoredKey => ({
  hash: digit.repeat(64),
  hint: `cal-…${digit.repeat(4)}`,
  createdAt: START,
  ...fields,
});

function updateOf(
  caller: Partial<CallerUpdate["caller"]> = {},
  audit: Partial<CallerUpdate["audit"]> = {},
): CallerUpdate {
  return {
    caller: { settings: "{}", keys: [], ...caller },
    audit: { by: "me", action: "create", details: "{}", ...audit },
  };
}

const idsOf = (callers: readonly StoredCaller[]): readonly string[] => callers.map(({ id }) => id);

function fail(): never {
  throw new RangeError("no");
}

/** The tests that the callers of every ledger pass. Each ledger calls it once, in a short file: see `ledgers/`. */
export function describeCallers(
  name: string,
  open: OpenLedger<CallerLedger>,
  { isDurable = false, isShared = false, tellsOthers = false }: CallerSuiteOptions = {},
): void {
  describe(`the callers of a ledger ${name}`, () => {
    let clock: Clock;
    let store: CallerStore;
    const bench = useLedger(open);
    beforeEach(() => {
      ({ clock } = bench());
      store = bench().ledger.callers;
    });
    itIsFound(open, CALLER_STORE);

    const join = async (): Promise<CallerStore> => (await bench().join()).callers;
    const create = async (id: string, caller: Partial<CallerUpdate["caller"]> = {}) =>
      await store.create(id, () => updateOf(caller));
    const revisionOf = async (asked = store): Promise<number> => (await asked.lookUp([])).revision;

    it("keeps a new caller with its keys, at the time of the ledger", async () => {
      const keys = [keyOf("a", { endsAt: START + 5 }), keyOf("b")];
      const created = await create("shop", { settings: '{"group":"vip"}', keys });
      expect(created).toEqual({
        id: "shop",
        settings: '{"group":"vip"}',
        keys,
        createdAt: START,
        changedAt: START,
      });
      expect(await store.find("shop")).toEqual(created);
      expect(await store.list({ limit: 10 })).toEqual([created]);
      expect(await store.find("Shop")).toBeUndefined();
    });

    it("tells the time of the ledger to the functions that create and change", async () => {
      const seen: number[] = [];
      const see = (_caller: unknown, now: number): CallerUpdate => {
        seen.push(now);
        return updateOf();
      };
      await store.create("shop", (now) => see(undefined, now));
      clock.advance(1_500);
      const changed = await store.change("shop", see);
      expect(seen).toEqual([START, START + 1_500]);
      expect(changed).toMatchObject({ createdAt: START, changedAt: START + 1_500 });
      expect((await store.lookUp([])).now).toBe(START + 1_500);
    });

    it("does not create a caller twice, also not one that was revoked", async () => {
      await create("shop", { settings: "first", revokedAt: START });
      expect(await create("shop", { settings: "second" })).toBeUndefined();
      expect(await store.find("shop")).toMatchObject({ settings: "first", revokedAt: START });
      expect(await store.audit({ limit: 10 })).toHaveLength(1);
    });

    it("replaces settings and keys in a change, and knows no caller that was not created", async () => {
      await create("shop", { settings: "old", keys: [keyOf("a"), keyOf("b")] });
      const seen: StoredCaller[] = [];
      await store.change("shop", (caller) => {
        seen.push(caller);
        return updateOf({ settings: "new", keys: [keyOf("b", { endsAt: START + 9 }), keyOf("c")] });
      });
      expect(seen).toMatchObject([{ id: "shop", settings: "old", keys: [keyOf("a"), keyOf("b")] }]);
      expect(await store.find("shop")).toMatchObject({
        settings: "new",
        keys: [keyOf("b", { endsAt: START + 9 }), keyOf("c")],
      });
      expect(await store.change("nobody", () => updateOf())).toBeUndefined();
    });

    it("loses no change of many that are made at the same time", async () => {
      await create("shop", { settings: "" });
      const stores = isShared ? [store, await join()] : [store];
      const names = Array.from({ length: 20 }, (_, at) => `<${at}>`);
      const add = async (added: string, at: number) =>
        await stores[at % stores.length]?.change("shop", ({ settings }) =>
          updateOf({ settings: settings + added }),
        );
      await Promise.all(names.map(add));
      const settings = (await store.find("shop"))?.settings ?? "";
      expect(settings.match(/<\d+>/g)?.toSorted()).toEqual(names.toSorted());
      expect(await store.audit({ limit: 100 })).toHaveLength(21);
    });

    it("removes the lines about changes before a time, and nothing else", async () => {
      const created = await create("shop", { keys: [keyOf("a")] });
      clock.advance(10);
      await create("app");
      expect(await store.pruneAudit(START)).toBe(0);
      expect(await store.pruneAudit(START + 10)).toBe(1);
      expect((await store.audit({ limit: 10 })).map(({ caller }) => caller)).toEqual(["app"]);
      expect(await store.find("shop")).toEqual(created);
      const [{ sequence } = { sequence: 0 }] = await store.audit({ limit: 1 });
      expect(await store.pruneAudit(START + 11)).toBe(1);
      expect(await store.pruneAudit(START + 11)).toBe(0);
      // The numbers of removed lines are not used again.
      await store.change("app", () => updateOf());
      expect(await store.audit({ limit: 10 })).toMatchObject([{ sequence: sequence + 1 }]);
    });

    it("changes nothing if the function throws", async () => {
      const created = await create("shop", { keys: [keyOf("a")] });
      const before = await revisionOf();
      await expect(store.change("shop", fail)).rejects.toThrow(new RangeError("no"));
      await expect(store.create("other", fail)).rejects.toThrow(new RangeError("no"));
      expect(await store.list({ limit: 10 })).toEqual([created]);
      expect(await store.audit({ limit: 10 })).toHaveLength(1);
      expect(await revisionOf()).toBe(before);
    });

    it("finds callers by the hashes of their keys, each once, with keys that have ended", async () => {
      const shop = await create("shop", { keys: [keyOf("a", { endsAt: START - 1 }), keyOf("b")] });
      const app = await create("app", { keys: [keyOf("c")] });
      const find = async (...digits: string[]) =>
        (await store.lookUp(digits.map((digit) => digit.repeat(64)))).callers.toSorted((one, other) =>
          one.id < other.id ? -1 : 1,
        );
      expect(await find("a")).toEqual([shop]);
      expect(await find("a", "b", "c", "d")).toEqual([app, shop]);
      expect(await find("d")).toEqual([]);
      expect(await find()).toEqual([]);
      await store.change("shop", () => updateOf({ keys: [keyOf("b")] }));
      expect(await find("a")).toEqual([]);
      expect(await find("b")).toMatchObject([{ id: "shop" }]);
    });

    it("refuses a key that another caller has", async () => {
      await create("shop", { keys: [keyOf("a")] });
      await expect(create("app", { keys: [keyOf("a")] })).rejects.toThrow(/key|UNIQUE|unique/);
      expect(idsOf(await store.list({ limit: 10 }))).toEqual(["shop"]);
      expect((await store.lookUp(["a".repeat(64)])).callers).toMatchObject([{ id: "shop" }]);
    });

    it("looks up many hashes at once", async () => {
      await create("shop", { keys: [keyOf("a")] });
      const others = Array.from({ length: 999 }, (_, at) => at.toString(16).padStart(64, "0"));
      expect((await store.lookUp([...others, "a".repeat(64)])).callers).toMatchObject([{ id: "shop" }]);
    });

    it("has another revision after each change, and only then", async () => {
      const revisions = [await revisionOf()];
      await create("shop");
      revisions.push(await revisionOf());
      await store.change("shop", () => updateOf());
      revisions.push(await revisionOf());
      expect(new Set(revisions).size).toBe(3);
      await create("shop");
      await store.change("nobody", () => updateOf());
      await store.list({ limit: 1 });
      expect(await revisionOf()).toBe(revisions[2]);
    });

    it("lists callers by id in pages, in the order of their bytes", async () => {
      const ids = ["b", "B", "a", "é", "\uffee", "🖼", "a b"];
      for (const id of ids) await create(id);
      const sorted = ["B", "a", "a b", "b", "é", "\uffee", "🖼"];
      expect(idsOf(await store.list({ limit: 100 }))).toEqual(sorted);
      expect(idsOf(await store.list({ limit: 3 }))).toEqual(sorted.slice(0, 3));
      expect(idsOf(await store.list({ limit: 2, after: "a b" }))).toEqual(["b", "é"]);
      expect(idsOf(await store.list({ limit: 2, after: "aa" }))).toEqual(["b", "é"]);
      expect(await store.list({ limit: 2, after: "🖼" })).toEqual([]);
    });

    it("keeps a line about each change, the newest first", async () => {
      await create("shop");
      clock.advance(10);
      await create("app");
      await store.change("shop", () => updateOf({}, { by: "ann", action: "rotate", details: '{"x":1}' }));
      const lines = await store.audit({ limit: 10 });
      expect(lines).toMatchObject([
        { caller: "shop", by: "ann", action: "rotate", details: '{"x":1}', time: START + 10 },
        { caller: "app", action: "create", time: START + 10 },
        { caller: "shop", by: "me", action: "create", time: START },
      ]);
      expect(await store.audit({ limit: 1 })).toEqual(lines.slice(0, 1));
      expect(await store.audit({ limit: 10, before: lines[0]?.sequence })).toEqual(lines.slice(1));
      expect(await store.audit({ limit: 10, caller: "shop" })).toEqual([lines[0], lines[2]]);
      expect(await store.audit({ limit: 10, caller: "shop", before: lines[0]?.sequence })).toEqual([
        lines[2],
      ]);
    });

    const hostile = Object.entries(HOSTILE_STRINGS).filter(([, value]) => value !== "");

    it("keeps hostile strings apart and returns them unchanged", async () => {
      for (const [, value] of hostile) {
        await store.create(value, () => updateOf({ settings: value }, { by: value, details: value }));
      }
      expect(await store.list({ limit: 100 })).toHaveLength(hostile.length);
      for (const [what, value] of hostile) {
        expect([what, await store.find(value)]).toMatchObject([what, { id: value, settings: value }]);
        const lines = await store.audit({ limit: 2, caller: value });
        expect(lines).toMatchObject([{ caller: value, by: value, details: value }]);
      }
    });

    it("keeps as much as it must", async () => {
      const settings = "图".repeat(65_536);
      const details = '"'.repeat(262_144);
      const keys = Array.from({ length: 32 }, (_, at) =>
        keyOf("a", { hash: at.toString(16).padStart(64, "0") }),
      );
      await store.create("shop", () => updateOf({ settings, keys }, { details }));
      expect(await store.find("shop")).toMatchObject({ settings, keys });
      expect(await store.audit({ limit: 1 })).toMatchObject([{ details }]);
    });

    it.each<[string, string, CallerUpdate]>([
      ["id", "", updateOf()],
      ["id", "a\0b", updateOf()],
      ["id", "\ud800", updateOf()],
      ["id", "x".repeat(513), updateOf()],
      ["settings", "shop", updateOf({ settings: "x".repeat(65_537) })],
      ["settings", "shop", updateOf({ settings: "\0" })],
      ["settings", "shop", updateOf({ settings: "\udc00" })],
      ["hash", "shop", updateOf({ keys: [keyOf("a", { hash: "A".repeat(64) })] })],
      ["hash", "shop", updateOf({ keys: [keyOf("a", { hash: "cal-key" })] })],
      ["hint", "shop", updateOf({ keys: [keyOf("a", { hint: "\0" })] })],
      ["createdAt", "shop", updateOf({ keys: [keyOf("a", { createdAt: Number.NaN })] })],
      ["endsAt", "shop", updateOf({ keys: [keyOf("a", { endsAt: 1e15 })] })],
      ["revokedAt", "shop", updateOf({ revokedAt: -1 })],
      ["keys", "shop", updateOf({ keys: Array.from({ length: 33 }, () => keyOf("a")) })],
      ["by", "shop", updateOf({}, { by: "x".repeat(513) })],
      ["details", "shop", updateOf({}, { details: "x".repeat(262_145) })],
    ])("refuses a wrong %s", async (field, id, update) => {
      const refusal = expect.objectContaining({
        name: "RangeError",
        message: expect.stringContaining(field),
      });
      await expect(store.create(id, () => update)).rejects.toEqual(refusal);
      expect(await store.list({ limit: 1 })).toEqual([]);
    });

    it("tells listeners about its own changes until they leave", async () => {
      const told: unknown[] = [];
      const stop = store.watch((change) => void told.push(change));
      onTestFinished(stop);
      await create("shop");
      await vi.waitFor(() => expect(told).toContainEqual({ id: "shop" }));
      stop();
      told.length = 0;
      await store.change("shop", () => updateOf());
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(told).toEqual([]);
    });

    const describeRestart = (): void => {
      describe("after a restart", () => {
        it("are as before, with their lines and the revision", async () => {
          const created = await create("shop", { keys: [keyOf("a")] });
          const [lines, revision] = [await store.audit({ limit: 10 }), await revisionOf()];
          const again = (await bench().reopen()).callers;
          expect(await again.find("shop")).toEqual(created);
          expect(await again.audit({ limit: 10 })).toEqual(lines);
          expect(await revisionOf(again)).toBe(revision);
        });
      });
    };
    const testListeners = (): void => {
      it("are told to the listeners of others", async () => {
        const other = await join();
        const told: unknown[] = [];
        onTestFinished(other.watch((change) => void told.push(change)));
        // The first one says that the connection is open.
        await vi.waitFor(() => expect(told).not.toEqual([]));
        await create("shop\n");
        await vi.waitFor(() => expect(told).toContainEqual({ id: "shop\n" }));
      });
    };
    const describeProcesses = (): void => {
      describe("in several processes", () => {
        it("are seen by each of them at once", async () => {
          const other = await join();
          const before = await revisionOf(other);
          const created = await create("shop", { keys: [keyOf("a")] });
          expect(await other.find("shop")).toEqual(created);
          const lookup = await other.lookUp(["a".repeat(64)]);
          expect(lookup.callers).toEqual([created]);
          expect(lookup.revision).not.toBe(before);
        });

        it("are created by one of them only", async () => {
          const stores = [store, await join(), await join()];
          const created = await Promise.all(
            stores.map((one, at) => one.create("shop", () => updateOf({ keys: [keyOf(String(at))] }))),
          );
          const [winner, ...losers] = created.filter((caller) => caller !== undefined);
          expect(losers).toEqual([]);
          expect(await store.find("shop")).toEqual(winner);
        });

        if (tellsOthers) testListeners();
      });
    };
    // Not `runIf`: in CI no test may be skipped.
    if (isDurable) describeRestart();
    if (isShared) describeProcesses();
  });
}
