import { createGateway, type Gateway } from "@calotype/core";
import { findPeriod } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { holdOf } from "./entries.js";

const HOUR_MS = 3_600_000;
const DAY = { unit: "day", timeZone: "Asia/Tokyo" } as const;

const RESPONSE = {
  model: "ep-1",
  created: 1_763_683_200,
  data: [{ url: "https://ark.test/1.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

/** A provider that responds when the test allows it. */
function createProvider() {
  const waiting: (() => void)[] = [];
  return {
    waiting,
    fetch: async (): Promise<Response> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
      return Response.json(RESPONSE);
    },
  };
}

function post(gateway: Gateway): Promise<Response> {
  return gateway.fetch(
    new Request("http://gateway.test/v1/images/generations", {
      method: "POST",
      headers: { authorization: "Bearer secret", "content-type": "application/json" },
      body: JSON.stringify({ model: "doodle", prompt: "a cat" }),
    }),
  );
}

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(async () => {
    vi.useRealTimers();
    await empty();
  });

  it.each([
    ["two hours behind", -2 * HOUR_MS],
    ["a day behind", -24 * HOUR_MS],
    ["two hours ahead", 2 * HOUR_MS],
    ["a year ahead", 8_766 * HOUR_MS],
  ])(
    "with a gateway clock %s, live holds are not swept, and a budget of 1 settles 1",
    async (_when, skewMs) => {
      vi.setSystemTime(Date.now() + skewMs);
      const provider = createProvider();
      const ledger = createPostgresLedger({ pool, schema });
      const other = createPostgresLedger({ pool, schema });
      const gateway = createGateway({
        models: { doodle: { family: "seedream" } },
        channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
        callers: [{ id: "me", key: "secret", budget: "1" }],
        billing: {
          model_details: { doodle: { pricing_mode: "per-request", model_price: "1" } },
          onLost: "release",
        },
        ledger,
        fetch: provider.fetch,
      });
      const first = post(gateway);
      await vi.waitUntil(() => provider.waiting.length === 1);
      expect(await other.sweep({ onLost: "release" })).toEqual([]);
      expect(await ledger.sweep({ onLost: "release" })).toEqual([]);
      const second = await post(gateway);
      provider.waiting[0]?.();

      expect((await first).status).toBe(200);
      expect(second.status).toBe(403);
      expect(await other.balance("me")).toEqual({ settled: "1", held: "0" });
      await gateway.close();
      await Promise.all([ledger.close(), other.close()]);
    },
  );

  it.each([
    ["two hours behind", -2 * HOUR_MS],
    ["ten days behind", -240 * HOUR_MS],
    ["a day ahead", 24 * HOUR_MS],
    ["a year ahead", 8_766 * HOUR_MS],
  ])(
    "with a process clock %s, a budget of a day counts in the day of the database",
    async (_when, skewMs) => {
      const readDay = async (): Promise<string> => {
        const { rows } = await pool.query("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now");
        return findPeriod(DAY, Number(rows[0].now)).key;
      };
      const before = await readDay();
      vi.setSystemTime(Date.now() + skewMs);
      const ledger = createPostgresLedger({ pool, schema });
      const hold = async (id: string) =>
        await ledger.hold(holdOf({ id, caller: "me", amount: "0.6", budget: "1", period: DAY }));
      expect(await hold("req_1")).toEqual({ ok: true });
      const [first] = await ledger.budgets.list();
      // Both, because the database may reach midnight during this test.
      expect([before, await readDay()]).toContain(first?.key);
      expect(await ledger.budgets.balance("me", DAY)).toMatchObject({ key: await readDay() });
      await hold("req_2");
      const periods = await ledger.budgets.list();
      expect(periods).toEqual(periods.map((period) => ({ ...period, settled: "0", held: "0.6" })));
      await ledger.close();
    },
  );

  it.each([
    ["behind", -2 * HOUR_MS],
    ["ahead", 2 * HOUR_MS],
  ])(
    "leases of holds and deliveries last as long as they should with a process clock two hours %s",
    async (_when, skewMs) => {
      const [right, wrong] = [createPostgresLedger({ pool, schema }), createPostgresLedger({ pool, schema })];
      const facts = { caller: "me", group: "default", model: "doodle", operation: "generate" } as const;
      const holdAt = (id: string) => ({
        ...facts,
        id,
        time: new Date().toISOString(),
        amount: "1",
        ttlMs: HOUR_MS,
        // The gateway still sends this: a time of its own clock.
        expiresAt: Date.now() + HOUR_MS,
      });
      await right.hold(holdAt("req_1"));
      vi.setSystemTime(Date.now() + skewMs);
      await wrong.hold(holdAt("req_2"));
      expect(await right.sweep({ onLost: "charge" })).toEqual([]);
      expect(await wrong.sweep({ onLost: "charge" })).toEqual([]);

      expect(await wrong.sweep({ onLost: "charge", own: true })).toHaveLength(1);
      expect(await wrong.takeUndelivered(9, 60_000)).toHaveLength(1);
      expect(await right.takeUndelivered(9, 60_000)).toEqual([]);
      vi.setSystemTime(Date.now() - skewMs);
      expect(await right.takeUndelivered(9, 60_000)).toEqual([]);
      await Promise.all([right.close(), wrong.close()]);
    },
  );
});
