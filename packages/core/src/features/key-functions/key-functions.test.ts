import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExpiringKey, KeyFunction, KeyRequest } from "../../contract/key-source.js";
import { FunctionKeys } from "./key-functions-feature.js";

const START = 1_800_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});

afterEach(() => {
  vi.useRealTimers();
});

const toSecrets = (key: string) => [key, btoa(key)];
const placeOf = (index: number) => ({ channel: "c", index, healthId: `c@${index}`, toSecrets });

/** A function that returns `key-0001`, `key-0002`, …, and a provider that refuses some keys. */
class Bench {
  /** When the function was called, in seconds. */
  readonly calls: number[] = [];
  readonly logs: string[] = [];
  /** The keys whose responses were cancelled. */
  readonly cancelled: string[] = [];
  readonly sources = new FunctionKeys(Date.now, {
    warn: (fields, message) => void this.logs.push(`${message} ${JSON.stringify(fields)}`),
    error: () => undefined,
  });
  /** The keys that the provider refuses. */
  readonly refused = new Set<string>();
  readonly source;

  /** @param returns gets the number of the call */
  constructor(returns: (key: string, call: number) => ReturnType<KeyFunction> = (key) => key) {
    this.source = this.sources.open(placeOf(0), () => {
      const call = this.calls.push((Date.now() - START) / 1000);
      return returns(keyOf(call), call);
    });
  }

  /** Sends a request, and returns the keys that were sent, or the message of the error. */
  async send(): Promise<string[] | string> {
    const sent: string[] = [];
    try {
      const { status } = await this.source.send(async (key) => {
        sent.push(key);
        return { status: this.refused.has(key) ? 401 : 200, cancel: () => void this.cancelled.push(key) };
      });
      return status === 401 ? [...sent, "refused"] : sent;
    } catch (error) {
      return String(error);
    }
  }

  /** Sends a request at this time, in seconds after the start. */
  async sendAt(second: number): Promise<string[] | string> {
    await vi.advanceTimersByTimeAsync(START + second * 1000 - Date.now());
    const sent = this.send();
    await vi.advanceTimersByTimeAsync(0);
    return sent;
  }
}

const keyOf = (call: number): string => `key-${`${call}`.padStart(4, "0")}`;
const [K1, K2, K3] = [keyOf(1), keyOf(2), keyOf(3)];
const lasting =
  (seconds: number) =>
  (key: string): ExpiringKey => ({ key, expiresAt: Date.now() + seconds * 1000 });

describe("the function of a key", () => {
  it.each<
    [
      what: string,
      returns: ConstructorParameters<typeof Bench>[0],
      requests: number[],
      keys: string[],
      calls: number[],
    ]
  >([
    ["once for a key without a time", (key) => key, [0, 1, 1e7], [K1, K1, K1], [0]],
    ["once for an object without a time", (key) => ({ key }), [0, 1e7], [K1, K1], [0]],
    ["once for a time that is null", (key) => ({ key, expiresAt: null }), [0, 1e7], [K1, K1], [0]],
    ["a minute before the end of an hour", lasting(3600), [0, 3539, 3540, 3541], [K1, K1, K1, K2], [0, 3540]],
    ["a tenth before the end of 100 s", lasting(100), [0, 89, 90, 91], [K1, K1, K1, K2], [0, 90]],
    ["when the key has expired", lasting(100), [0, 100], [K1, K2], [0, 100]],
    [
      "with a Date",
      (key) => ({ key, expiresAt: new Date(Date.now() + 1e5) }),
      [0, 89, 90, 91],
      [K1, K1, K1, K2],
      [0, 90],
    ],
    ["for a promise", async (key) => lasting(100)(key), [0, 100], [K1, K2], [0, 100]],
    // Client libraries return the same key until a few minutes before its end.
    [
      "again later if it returned the same key",
      () => ({ key: K1, expiresAt: START + 1e5 }),
      [0, 90, 91, 98, 99],
      [K1, K1, K1, K1, K1],
      [0, 90, 99],
    ],
  ])("is called %s", async (_what, returns, requests, keys, calls) => {
    const bench = new Bench(returns);
    const sent = [];
    for (const second of requests) sent.push(await bench.sendAt(second));

    expect(sent).toEqual(keys.map((key) => [key]));
    expect(bench.calls).toEqual(calls);
  });

  it("is called once for requests at the same time, at the beginning and when the key has expired", async () => {
    const bench = new Bench(async (key) => {
      await new Promise((resolve) => setTimeout(resolve, 500));
      return lasting(100)(key);
    });
    const first = Promise.all([bench.send(), bench.send(), bench.send()]);
    await vi.advanceTimersByTimeAsync(500);
    expect(await first).toEqual([[K1], [K1], [K1]]);

    await vi.advanceTimersByTimeAsync(200_000);
    const second = Promise.all([bench.send(), bench.send()]);
    await vi.advanceTimersByTimeAsync(500);
    expect(await second).toEqual([[K2], [K2]]);
    expect(bench.calls).toEqual([0, 200.5]);
  });

  it("learns which key was refused, and is not called as a method", async () => {
    const returned: string[] = [];
    const call = function (this: unknown, { refused }: KeyRequest): string {
      const key = `${this === undefined}-${refused}`;
      returned.push(key);
      return key;
    };
    const source = new FunctionKeys(Date.now, console).open(placeOf(0), call);
    await source.send(async () => ({ status: 401, cancel() {} }));

    expect(returned).toEqual(["true-undefined", "true-true-undefined"]);
  });
});

describe("a provider that answers 401", () => {
  it("gets the request once more with another key, and all requests share one call", async () => {
    const bench = new Bench(lasting(3600));
    await bench.sendAt(0);
    bench.refused.add(K1);

    expect(await Promise.all([bench.send(), bench.send(), bench.send()])).toEqual([
      [K1, K2],
      [K1, K2],
      [K1, K2],
    ]);
    expect(bench.calls).toEqual([0, 0]);
    // The connections of the refused requests are free again.
    expect(bench.cancelled).toEqual([K1, K1, K1]);
    expect(bench.logs).toEqual(['A provider refused a key before its time. {"channel":"c","key":0}']);
  });

  it("gets the new key if a request with the old one is refused late", async () => {
    const bench = new Bench();
    await bench.sendAt(0);
    const refusal = Promise.withResolvers<{ readonly status: number; cancel(): void }>();
    const late = bench.source.send(async (key) =>
      key === K1 ? refusal.promise : { status: 200, cancel() {} },
    );
    await vi.advanceTimersByTimeAsync(0);
    bench.refused.add(K1);
    await bench.sendAt(1);
    refusal.resolve({ status: 401, cancel() {} });

    expect((await late).status).toBe(200);
    expect(bench.calls).toEqual([0, 1]);
    expect(bench.logs).toEqual([]);
  });

  it("causes one call in 30 seconds, whatever the key", async () => {
    const bench = new Bench();
    for (let call = 1; call < 9; call++) bench.refused.add(keyOf(call));

    expect(await bench.sendAt(0)).toEqual([K1, K2, "refused"]);
    expect(await bench.sendAt(29)).toEqual([K2, "refused"]);
    expect(await bench.sendAt(30)).toEqual([K2, K3, "refused"]);
    expect(bench.calls).toEqual([0, 0, 30]);
  });

  it("gets the request once if the function returns the same key", async () => {
    const bench = new Bench(() => K1);
    bench.refused.add(K1);

    expect(await bench.sendAt(0)).toEqual([K1, "refused"]);
    expect(bench.calls).toEqual([0, 0]);
  });

  it("gets the request once if the function fails or hangs, and the key stays", async () => {
    const bench = new Bench((key, call) => {
      if (call === 2) throw new Error("no network");
      return call === 3 ? new Promise(() => {}) : key;
    });
    bench.refused.add(K1);

    expect(await bench.sendAt(0)).toEqual([K1, "refused"]);
    const hangs = bench.sendAt(30);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await hangs).toEqual([K1, "refused"]);
    bench.refused.clear();
    expect(await bench.sendAt(41)).toEqual([K1]);
    expect(bench.logs).toEqual([expect.stringContaining("could not be replaced")]);
  });

  it("does not see another status again", async () => {
    const bench = new Bench();
    const statuses = [];
    for (const status of [200, 400, 403, 429, 500])
      statuses.push((await bench.source.send(async () => ({ status, cancel() {} }))).status);

    expect(statuses).toEqual([200, 400, 403, 429, 500]);
    expect(bench.calls).toEqual([0]);
  });
});

describe("a function that fails", () => {
  const PREFIX = "KeyError: The function of apiKey (channel c, key 0)";
  const SECRET = "tok-4f9a1c2e77aa03bd";
  const at = (expiresAt: unknown) => ({ key: SECRET, expiresAt });

  const NO_KEY = "instead of a key or { key, expiresAt }.";
  const NO_TIME =
    "returned an invalid expiresAt: it must be a Date, or milliseconds since 1970, in the future.";

  it.each<[what: string, returned: unknown, problem: string]>([
    ["nothing", undefined, `returned nothing ${NO_KEY}`],
    ["null", null, `returned nothing ${NO_KEY}`],
    ["an empty string", "", `returned nothing ${NO_KEY}`],
    ["a number", 4, `returned an invalid number ${NO_KEY}`],
    ["a list", [SECRET], `returned an invalid object ${NO_KEY}`],
    ["another object", { token: SECRET }, `returned an invalid object ${NO_KEY}`],
    ["an object without a key", { key: null }, `returned an invalid object ${NO_KEY}`],
    ["a line end", `${SECRET}\n`, `returned an invalid string ${NO_KEY}`],
    ["a space", `Bearer ${SECRET}`, `returned an invalid string ${NO_KEY}`],
    ["a long string", SECRET.repeat(1000), `returned an invalid string ${NO_KEY}`],
    ["seconds", at(START / 1000 + 3600), NO_TIME],
    ["this moment", at(START), NO_TIME],
    ["a string as time", at("2027-01-01"), NO_TIME],
    ["no time", at(Number.NaN), NO_TIME],
    ["an invalid Date", at(new Date("x")), NO_TIME],
  ])("because it returns %s says so, without what it returned", async (_what, returned, problem) => {
    const bench = new Bench(() => returned as string);
    const message = await bench.sendAt(0);

    expect(message).toBe(`${PREFIX} ${problem}`);
  });

  it.each<[what: string, fail: () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("no network");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no network"))],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- A library may reject with anything.
    ["rejects with no Error", () => Promise.reject("no network")],
  ])("because it %s has the cause", async (_what, fail) => {
    const bench = new Bench(fail);

    await expect(bench.source.send(async () => ({ status: 200, cancel() {} }))).rejects.toMatchObject({
      message: "The function of apiKey (channel c, key 0) has failed.",
      cause: { message: "no network" },
    });
  });

  it("has 10 seconds, and is called again after them", async () => {
    const bench = new Bench((key, call) => (call === 1 ? new Promise(() => {}) : key));
    const first = bench.send();
    await vi.advanceTimersByTimeAsync(4_000);
    const second = bench.send();
    await vi.advanceTimersByTimeAsync(5_999);
    expect(bench.calls).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);

    expect(await first).toBe(`${PREFIX} has not returned within 10 s.`);
    expect(await second).toBe(`${PREFIX} has not returned within 10 s.`);
    expect(await bench.sendAt(10)).toEqual([K2]);
    expect(bench.calls).toEqual([0, 10]);
  });

  it("does not replace a newer key when it returns late", async () => {
    const bench = new Bench(async (key, call) => {
      if (call === 1) await new Promise((resolve) => setTimeout(resolve, 12_000));
      return key;
    });
    const first = bench.send();
    await vi.advanceTimersByTimeAsync(10_000);
    await first;
    await bench.sendAt(11);

    expect(await bench.sendAt(20)).toEqual([K2]);
  });

  it("is not called again for a second", async () => {
    const bench = new Bench((key, call) => {
      if (call === 1) throw new Error("no network");
      return key;
    });

    expect(await bench.sendAt(0)).toContain("has failed");
    expect(await bench.sendAt(0.9)).toContain("has failed");
    expect(await bench.sendAt(1)).toEqual([K2]);
    expect(bench.calls).toEqual([0, 1]);
  });

  it("leaves the old key in use until its end, and is in the log once until it works again", async () => {
    const bench = new Bench((key, call) => {
      if (call > 1 && call !== 6) throw new Error(`no network, ${K1}`);
      return lasting(100)(key);
    });

    for (const second of [0, 90, 95, 99]) expect(await bench.sendAt(second)).toEqual([K1]);
    expect(await bench.sendAt(100)).toContain("has failed");
    expect(bench.calls).toEqual([0, 90, 95, 99, 100]);
    expect(bench.logs).toEqual([expect.stringContaining("A key could not be replaced")]);
    expect(await bench.sendAt(101)).toEqual([keyOf(6)]);
    await bench.sendAt(191);
    expect(bench.logs).toHaveLength(2);
  });

  it("throws an error without the keys that it has returned", async () => {
    const bench = new Bench((key, call) => {
      if (call > 1) throw new Error(`${K1} and ${btoa(K1)} have expired`);
      return lasting(100)(key);
    });
    await bench.sendAt(0);
    await vi.advanceTimersByTimeAsync(100_000);

    await expect(bench.source.send(async () => ({ status: 200, cancel() {} }))).rejects.toMatchObject({
      cause: { message: "*** and *** have expired" },
    });
  });
});

describe("the keys to redact", () => {
  const HOUR = 3_600;

  it("are those that were returned, in each form, until 24 hours after they were replaced", async () => {
    const bench = new Bench(lasting(HOUR));
    expect(bench.sources.secrets).toEqual([]);
    await bench.sendAt(0);
    expect(bench.sources.secrets).toEqual([K1, btoa(K1)]);
    await bench.sendAt(20 * HOUR);
    await bench.sendAt(43 * HOUR);
    expect(bench.sources.secrets).toEqual(expect.arrayContaining([K1, K2, K3]));
    await bench.sendAt(44 * HOUR);
    expect(bench.sources.secrets).not.toContain(K1);
    expect(bench.sources.secrets).toEqual(expect.arrayContaining([K2, K3, keyOf(4)]));
  });

  it("include a current key however long it has been used", async () => {
    const bench = new Bench();
    await bench.sendAt(0);
    const other = bench.sources.open(placeOf(1), () => "other-key");
    await bench.sendAt(1000 * HOUR);
    await other.send(async () => ({ status: 200, cancel() {} }));

    expect(bench.sources.secrets).toEqual(expect.arrayContaining([K1, "other-key"]));
  });

  it("are at most 1,000 of a channel: the latest", async () => {
    const bench = new Bench(lasting(10));
    for (let call = 0; call <= 1_000; call++) await bench.sendAt(call * 10);

    const keys = bench.sources.secrets.filter((secret) => secret.startsWith("key-"));
    expect(keys).toHaveLength(1_000);
    expect(keys.at(0)).toBe(K2);
    expect(keys.at(-1)).toBe(keyOf(1_001));
  });

  it("are the same list until there is another key", async () => {
    const bench = new Bench(lasting(100));
    await bench.sendAt(0);
    const before = bench.sources.secrets;
    await bench.sendAt(50);
    expect(bench.sources.secrets).toBe(before);
    await bench.sendAt(100);
    expect(bench.sources.secrets).not.toBe(before);
  });
});

describe("a reload", () => {
  const end = { status: 200, cancel() {} };

  it("keeps the key of the same function at the same place", async () => {
    const bench = new Bench();
    await bench.sendAt(0);

    expect(bench.sources.open(placeOf(0), bench.source.call)).toBe(bench.source);
    expect(bench.sources.open(placeOf(1), bench.source.call).current).toBeUndefined();
  });

  it.each<[what: string, reload: (sources: FunctionKeys) => void]>([
    ["with another function", (sources) => void sources.open(placeOf(0), () => "other-key")],
    ["without the function", (sources) => sources.retain(["c@1"])],
  ])("%s redacts the old key for 24 hours", async (_what, reload) => {
    const bench = new Bench();
    await bench.sendAt(0);
    await vi.advanceTimersByTimeAsync(1e9);
    reload(bench.sources);
    const other = bench.sources.open(placeOf(1), lastingCounter());
    await vi.advanceTimersByTimeAsync(86_399_000);
    await other.send(async () => end);
    expect(bench.sources.secrets).toContain(K1);
    await vi.advanceTimersByTimeAsync(1_000);
    await other.send(async () => end);

    expect(bench.sources.secrets).not.toContain(K1);
  });
});

/** Returns another key with each call; each lasts a second. */
function lastingCounter(): KeyFunction {
  let count = 0;
  return () => ({ key: `other-key-${++count}`, expiresAt: Date.now() + 1_000 });
}
