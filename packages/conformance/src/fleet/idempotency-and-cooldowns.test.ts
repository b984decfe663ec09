import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { describeWithServices } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { REDIS } from "../support/redis-service.js";
import { call, kindOf, tally } from "./call-fleet.js";
import { FIRST_UPSTREAM, GATED, SECOND_UPSTREAM, TWICE } from "./gateway-plan.js";
import type { Fleet } from "./open-fleet.js";
import { readAccount } from "./read-account.js";
import { useFleet } from "./use-fleet.js";

/**
 * A request whose slot is freed over the same connection as the cooldown. After its response, other processes
 * know the cooldown.
 */
const TO_TWO_CHANNELS = { caller: "by-places", model: TWICE } as const;

await describeWithServices([REDIS, POSTGRES], (redisUrl, postgresUrl) => {
  const fleet = useFleet(4, { redisUrl, postgresUrl });

  it("a request with an idempotency key runs once in a fleet, and every process repeats its response byte for byte", async () => {
    const { gated, servers, nextUrl } = fleet();
    const planned = { caller: "shop", model: GATED, idempotencyKey: "one-order" } as const;
    let answered = 0;
    const calls = Array.from({ length: 40 }, async () => {
      const response = await call(nextUrl(), planned);
      answered++;
      return response;
    });
    await vi.waitFor(
      () => expect({ answered, waiting: gated.waiting() }).toEqual({ answered: 39, waiting: 1 }),
      10_000,
    );
    gated.letGo();
    const responses = await Promise.all(calls);
    expect(tally(responses)).toEqual({ "200": 1, "409 idempotency_in_progress": 39 });

    const first = responses.find((response) => kindOf(response) === "200");
    for (const { url } of [...servers, ...servers]) {
      const { status, text, headers } = await call(url, planned);
      const type = first?.headers["content-type"];
      expect({ status, text, type: headers["content-type"] }).toEqual({
        status: 200,
        text: first?.text,
        type,
      });
    }
    const others = servers.map(({ url }) => call(url, { ...planned, prompt: "another oak" }));
    expect(tally(await Promise.all(others))).toEqual({ "422 idempotency_conflict": 4 });
    expect(gated.received()).toBe(1);
    expect(await readAccount(fleet(), "shop")).toMatchObject({ records: 1, settled: "0.03", held: "0" });
  });

  describe("a channel that cools down in one process", () => {
    it("is used by no process until one of them has probed it successfully", async () => {
      const { servers } = fleet();
      await coolFirstChannel(fleet(), 500);
      expect(await findUpstreams(fleet())).toEqual(Array(8).fill(SECOND_UPSTREAM));

      const tested = await fetch(`${servers[2]?.url}/test`);
      expect(await tested.json()).toMatchObject({ ok: true });
      expect(await findUpstreams(fleet())).toEqual(Array(8).fill(FIRST_UPSTREAM));
    });

    it("is used by all processes again when the cooldown is over", async () => {
      await coolFirstChannel(fleet(), 1);
      await sleep(1_100);
      expect(await findUpstreams(fleet())).toEqual(Array(8).fill(FIRST_UPSTREAM));
    });
  });
});

/** Lets the first channel refuse the first process once, with this number of seconds. */
async function coolFirstChannel({ emulator, servers }: Fleet, seconds: number): Promise<void> {
  emulator.faults.add({ model: FIRST_UPSTREAM, status: 429, retryAfterSeconds: seconds, times: 1 });
  expect(kindOf(await call(servers[0]?.url ?? "", TO_TWO_CHANNELS))).toBe("200");
  expect(readUpstreams(emulator)).toEqual([FIRST_UPSTREAM, SECOND_UPSTREAM]);
}

/** The provider's models that each process requests, twice one after another. */
async function findUpstreams({ emulator, servers }: Fleet): Promise<string[]> {
  emulator.reset();
  for (const { url } of [...servers, ...servers]) await call(url, TO_TWO_CHANNELS);
  return readUpstreams(emulator);
}

function readUpstreams({ requests }: Fleet["emulator"]): string[] {
  return requests.map(({ bodyText }) => {
    const { model }: { model: string } = JSON.parse(bodyText);
    return model;
  });
}
