import {
  MAX_REFUSAL_BATCH,
  MAX_REFUSALS,
  MAX_REFUSALS_OF_CALLER,
  REFUSAL_STORE,
  type Refusal,
  type RefusalLedger,
  type StoredRefusalQuery,
} from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { itIsFound, type OpenLedger, useLedger } from "./ledger-suite/open-ledger.js";

const refusalOf = (id: string, fields: Partial<Refusal> = {}): Refusal => ({
  id,
  time: "2026-11-24T09:00:00.000Z",
  method: "POST",
  path: "/v1/images/generations",
  status: 401,
  code: "invalid_api_key",
  ...fields,
});

const timeOf = (minute: number): string => `2026-11-24T09:0${minute}:00.000Z`;

/** Adds this number of refusals in full batches, and returns their ids. */
const addMany = async (
  { refusals }: RefusalLedger,
  count: number,
  toRefusal: (at: number) => Refusal,
): Promise<readonly string[]> => {
  const all = Array.from({ length: count }, (_, at) => toRefusal(at));
  for (let at = 0; at < count; at += MAX_REFUSAL_BATCH) {
    await refusals.add(all.slice(at, at + MAX_REFUSAL_BATCH));
  }
  return all.map(({ id }) => id);
};
const isKept = async ({ refusals }: RefusalLedger, id: string | undefined): Promise<boolean> =>
  (await refusals.find(id ?? "")) !== undefined;

/** The tests that the refusals of every ledger pass. Each ledger calls it once, in a short file: see `ledgers/`. */
export function describeRefusals(name: string, open: OpenLedger<RefusalLedger>): void {
  describe(`the refusals of a ledger ${name}`, () => {
    const bench = useLedger(open);
    itIsFound(open, REFUSAL_STORE);

    it("are found by their ids, as they were added", async () => {
      const { ledger } = bench();
      const known = refusalOf("req_2", {
        caller: "shop \u{1F47B}'\"",
        model: "doodle",
        param: "size",
        limit: "requests",
        durationMs: 3,
      });
      await ledger.refusals.add([refusalOf("req_1"), known]);

      expect(await ledger.refusals.find("req_1")).toEqual(refusalOf("req_1"));
      expect(await ledger.refusals.find("req_2")).toEqual(known);
      expect(await ledger.refusals.find("req_3")).toBeUndefined();
    });

    it("are listed with the newest first, and counted by status and code, of a time, a caller and a model", async () => {
      const { ledger } = bench();
      await ledger.refusals.add([
        refusalOf("req_1", { time: timeOf(0) }),
        refusalOf("req_2", { time: timeOf(1), caller: "shop", status: 429, code: "rate_limit_exceeded" }),
        refusalOf("req_3", {
          time: timeOf(2),
          caller: "shop",
          status: 429,
          code: "rate_limit_exceeded",
          model: "m",
        }),
        refusalOf("req_4", { time: timeOf(3), caller: "shop", status: 400, code: "invalid_request_error" }),
      ]);
      const list = async (query: Omit<StoredRefusalQuery, "limit">, limit = 10) => {
        const { refusals, counts } = (await ledger.refusals.list?.({ ...query, limit })) ?? {};
        return { ids: refusals?.map(({ id }) => id), counts };
      };
      const limited = { status: 429, code: "rate_limit_exceeded" };

      const all = await list({}, 3);
      expect(all.ids).toEqual(["req_4", "req_3", "req_2"]);
      expect(all.counts?.[0]).toEqual({ ...limited, requests: 2 });
      expect(all.counts).toHaveLength(3);
      expect(await list({ from: timeOf(1), to: timeOf(2), caller: "shop" })).toEqual({
        ids: ["req_2"],
        counts: [{ ...limited, requests: 1 }],
      });
      expect(await list({ model: "m" })).toEqual({ ids: ["req_3"], counts: [{ ...limited, requests: 1 }] });
      expect(await list({ caller: "nobody" })).toEqual({ ids: [], counts: [] });
    });

    it("are added once", async () => {
      const { ledger } = bench();
      await ledger.refusals.add([refusalOf("req_1"), refusalOf("req_1", { status: 400 })]);
      await ledger.refusals.add([refusalOf("req_1", { status: 404 }), refusalOf("req_2")]);

      expect(await ledger.refusals.find("req_1")).toMatchObject({ status: 401 });
      expect(await isKept(ledger, "req_2")).toBe(true);
    });

    it("of one caller, or of none, remove only their own when there are many", async () => {
      const { ledger } = bench();
      await ledger.refusals.add([refusalOf("of-shop", { caller: "shop" }), refusalOf("of-nobody")]);
      const count = MAX_REFUSALS_OF_CALLER + 50;
      const busy = await addMany(ledger, count, (at) => refusalOf(`busy-${at}`, { caller: "busy" }));

      expect(await isKept(ledger, "of-shop")).toBe(true);
      expect(await isKept(ledger, "of-nobody")).toBe(true);
      expect(await isKept(ledger, busy[0])).toBe(false);
      expect(await isKept(ledger, busy[50])).toBe(true);
      await addMany(ledger, count, (at) => refusalOf(`nobody-${at}`));
      expect(await isKept(ledger, "of-shop")).toBe(true);
      expect(await isKept(ledger, "of-nobody")).toBe(false);
    });

    it("of very many callers are at most as many as a ledger keeps", async () => {
      const { ledger } = bench();
      const count = MAX_REFUSALS + 100;
      const ids = await addMany(ledger, count, (at) =>
        refusalOf(`req-${at}`, { caller: `caller-${at % 500}` }),
      );

      expect(await isKept(ledger, ids[0])).toBe(false);
      expect(await isKept(ledger, ids[99])).toBe(false);
      expect(await isKept(ledger, ids[100])).toBe(true);
    });

    it("of another process are found, also after it has ended", async () => {
      const { ledger, join, reopen } = bench();
      const other = await join();
      await Promise.all([
        addMany(ledger, 300, (at) => refusalOf(`one-${at}`)),
        addMany(other, 300, (at) => refusalOf(`other-${at}`)),
      ]);
      expect(await isKept(ledger, "other-299")).toBe(true);
      expect(await isKept(await reopen(), "other-0")).toBe(true);
    });
  });
}
