import type { GatewayOptions } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { CALLER_KEY, MODEL, type OpenStudio, openStudio } from "../testing/open-studio.js";
import type { ChannelFacts } from "../wire.js";

/** The key of a channel, of which only the last four characters are shown. */
const CHANNEL_KEY = "channel-canary-9b1f0a64";
const TWO_KEYS: Partial<GatewayOptions> = {
  channels: [
    { id: "ark", family: "seedream", apiKey: [CHANNEL_KEY, "short"], priority: 3, weight: 7 },
    { id: "ark-2", family: "seedream", apiKey: () => Promise.resolve(CHANNEL_KEY) },
  ],
};

const make = ({ send }: OpenStudio) =>
  send({
    method: "POST",
    path: "/api/images/generations",
    headers: { "x-calotype-studio-key": CALLER_KEY },
    body: { model: MODEL, prompt: "a fox" },
  });

describe("the channels", () => {
  it("have what they are configured for, hints of their keys, and what they did in a day", async () => {
    const test = openStudio({}, TWO_KEYS);
    await make(test);

    const { json, text } = await test.send({ path: "/api/channels" });

    expect(json).toMatchObject([
      {
        id: "ark",
        family: "seedream",
        priority: 3,
        weight: 7,
        models: [MODEL],
        keys: [{ index: 0, hint: "…0a64" }, { index: 1 }],
        day: { requests: 1, images: 1, charge: "0.2" },
      },
      { id: "ark-2", priority: 0, weight: 1, keys: [{ index: 0 }] },
    ]);
    expect(text).not.toContain(CHANNEL_KEY);
    expect(text).not.toContain("short");
  });

  it("have their failed attempts from the records, also if another channel served the request", async () => {
    const test = openStudio({}, TWO_KEYS);
    test.emulator.faults.add({ status: 429, times: 1 });
    const made = await make(test);

    expect(made.status).toBe(200);
    expect((await test.send({ path: "/api/channels/ark/errors" })).json).toMatchObject({
      errors: [{ status: 429, requestId: made.headers["x-request-id"] }],
    });
    expect((await test.send({ path: "/api/channels/ark-2/errors" })).json).toEqual({ errors: [] });
    const [first, second] = (await test.send({ path: "/api/channels" })).json as readonly ChannelFacts[];
    expect(first?.lastError).toMatchObject({ status: 429, requestId: made.headers["x-request-id"] });
    expect(second).not.toHaveProperty("lastError");
  });
});

describe("refused requests", () => {
  it("are counted by status and code, and listed, for the filters that they have", async () => {
    const test = openStudio();
    await test.send({
      method: "POST",
      path: "/api/images/generations",
      headers: { "x-calotype-studio-key": CALLER_KEY },
      body: { model: MODEL, prompt: "a fox", n: "x" },
    });
    await test.send({
      method: "POST",
      path: "/api/images/generations",
      headers: { "x-calotype-studio-key": "wrong" },
      body: { model: MODEL, prompt: "a fox" },
    });

    const { json } = await test.send({ path: "/api/refusals?caller=shop" });
    expect(json).toMatchObject({
      refusals: [{ status: 400, param: "n", caller: "shop", model: MODEL }],
      counts: [{ status: 400, code: "invalid_request_error", requests: 1 }],
    });
    expect((await test.send({ path: "/api/refusals" })).json).toMatchObject({ counts: { length: 2 } });
    expect((await test.send({ path: "/api/refusals?limit=0" })).status).toBe(400);
    expect((await test.send({ path: "/api/refusals?from=now" })).status).toBe(400);
  });
});

describe("currencies", () => {
  it("are told to the page, and charges of different ones are not added up", async () => {
    const other = "image-max";
    const test = openStudio(
      { currency: { "seedream-*": "CNY", "*": "USD" } },
      {
        models: { [MODEL]: { family: "seedream" }, [other]: { family: "seedream" } },
        billing: {
          model_details: {
            [MODEL]: { pricing_mode: "per-request", model_price: "0.2" },
            [other]: { pricing_mode: "per-request", model_price: "0.5" },
          },
        },
        channels: [
          {
            id: "ark",
            family: "seedream",
            apiKey: CHANNEL_KEY,
            modelMapping: { [MODEL]: MODEL, [other]: MODEL },
          },
        ],
      },
    );
    await make(test);
    await make(test);
    await test.send({
      method: "POST",
      path: "/api/images/generations",
      headers: { "x-calotype-studio-key": CALLER_KEY },
      body: { model: other, prompt: "a fox" },
    });
    const hour = 3_600_000;
    const [from, to] = [Date.now() - hour, Date.now() + hour].map((time) => new Date(time).toISOString());

    const { json: session } = await test.send({ path: "/api/session" });
    const { json: usage } = await test.send({ path: `/api/usage?from=${from}&to=${to}` });

    expect(session).toMatchObject({ currency: { "seedream-*": "CNY", "*": "USD" } });
    expect(usage).toMatchObject({
      charges: [
        { currency: "USD", charge: "0.5" },
        { currency: "CNY", charge: "0.4" },
      ],
    });
  });

  it.each([[""], ["a long currency"], [7], [{ "*": "" }], [null]])("cannot be %j", (currency) => {
    // @ts-expect-error -- most of them have a wrong type
    expect(() => openStudio({ currency })).toThrow(/currency of the studio/);
  });
});

describe("long responses to GET", () => {
  const long = { path: "/api/search?text=", headers: { "accept-encoding": "gzip, br" } };

  it("are compressed if the client takes gzip, and only then", async () => {
    const callers = Array.from({ length: 8 }, (_, index) => ({
      id: `shop-${index}-${"x".repeat(200)}`,
      key: `key-of-shop-${index}`,
    }));
    const { send } = openStudio({}, { callers });

    const packed = await send(long);
    const plain = await send({ ...long, headers: {} });

    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(packed.headers["vary"]).toBe("accept-encoding");
    expect(plain.headers).not.toHaveProperty("content-encoding");
    expect(plain.json).toMatchObject({ callers: { length: 8 } });
    expect(packed.text.length).toBeLessThan(plain.text.length / 2);
  });
});
