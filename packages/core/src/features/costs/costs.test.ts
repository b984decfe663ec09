import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { SettledRecord } from "../../billing/records.js";
import type { ChannelOptions } from "../../channels/channel.js";
import { composeGateway } from "../../compose.js";
import { openai } from "../../families/openai/openai.js";
import { seedream } from "../../families/seedream/seedream.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { GatewayOptionsError } from "../../options/options-error.js";
import { cutOffWhenPolled, DONE, openDarkroom, openWaitingDarkroom } from "../../testing/open-darkroom.js";
import { ASYNC, openTaskGateway } from "../../testing/task-gateway.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  GENERATIONS,
  type Provider,
  refusedConnection,
} from "../../testing/test-gateway.js";
import { addDecimals, formatDecimal, readDecimal, ZERO } from "../../util/decimal.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";

const MODEL = "seedream-4-5-251128";
const BODY = { model: MODEL, prompt: "a fox" };
const perImage = (price: string) => ({ pricing_mode: "per-request", model_price: price }) as const;
const BILLING = { model_details: { "*": perImage("0.25") } };

type Costs = ChannelOptions["costs"];

const channel = (id: string, costs: Costs, rest: Partial<ChannelOptions> = {}): ChannelOptions => ({
  id,
  family: "seedream",
  apiKey: `key-of-${id}-0000000`,
  baseUrl: `https://${id}.test/v3`,
  costs,
  ...rest,
});

const MODELS = { [MODEL]: { family: "seedream" } };
const OF_QWEN = { models: { "image-max": { family: "qwen-image" } } };

function open(channels: readonly ChannelOptions[], provider?: Provider, rest: Partial<GatewayOptions> = {}) {
  return createTestGateway(provider, { models: MODELS, billing: BILLING, channels, ...rest });
}

/** Sends a request and returns its record. */
async function recordOf(
  { post, records }: ReturnType<typeof open>,
  body: object = BODY,
): Promise<SettledRecord> {
  const before = records.length;
  await post(body);
  const record = records[before];
  if (record === undefined) throw new Error("There is no record.");
  return record;
}

const bailian = (id: string, costs: Costs, priority = 0) =>
  channel(id, costs, { family: "qwen-image", baseUrl: `https://${id}.test/api/v1`, priority });
const several = { model: "image-max", prompt: "a fox", n: 3 };

const used = async (channels: readonly ChannelOptions[], body: object = BODY, provider?: Provider) => {
  const { post, calls } = createTestGateway(
    provider,
    { models: MODELS, channels, routing: "cost" },
    { random: () => 0 },
  );
  await post(body);
  return calls.map(({ url }) => new URL(url).hostname.split(".")[0]);
};

const problemsOf = (costs: unknown, rest: object = {}, options: object = {}): readonly string[] => {
  try {
    // @ts-expect-error The costs are wrong.
    open([{ ...channel("ark", undefined), costs, ...rest }], undefined, { families: [openai], ...options });
    return [];
  } catch (error) {
    if (!(error instanceof GatewayOptionsError)) throw error;
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
};

const withoutTokens: Provider = () => Response.json({ ...ARK_RESPONSE, usage: { generated_images: 1 } });

const failingFirst: Provider = ({ url }) =>
  url.includes("first") ? Response.json({}, { status: 500 }) : Response.json(ARK_RESPONSE);

/** A provider of which one channel cannot be reached. */
const unreachable =
  (id: string): Provider =>
  ({ url }) => {
    if (url.includes(id)) throw refusedConnection();
    return Response.json(ARK_RESPONSE);
  };

describe("the cost of a request", () => {
  it("is computed from the costs of its channel, and changes no charge", async () => {
    const { cost, costLines, charge } = await recordOf(
      open([channel("ark", { "seedream-*": perImage("0.1") })]),
    );
    expect({ cost, charge }).toEqual({ cost: "0.1", charge: "0.25" });
    expect(costLines).toMatchObject([
      { channel: "ark", amount: "0.1", derivation: { model_price: "0.1", count: 1 } },
    ]);
  });

  it("is absent, and so are its lines, if no channel has costs", async () => {
    const record = await recordOf(open([channel("ark", undefined)]));
    expect(record).not.toHaveProperty("cost");
    expect(record).not.toHaveProperty("costLines");
  });

  it("is not in what a client gets", async () => {
    const costs = { "*": perImage("0.123456789") };
    const { post, gateway } = open([channel("ark", costs)], undefined, {
      showCharge: true,
      showPrices: true,
    });
    const { headers, text } = await post(BODY);
    const paths = ["/v1/models", `/v1/models/${MODEL}`];
    const others = await Promise.all(
      paths.map(async (path) => {
        const request = new Request(`http://gateway.test${path}`, {
          headers: { authorization: `Bearer ${CALLER_KEY}` },
        });
        return await (await gateway.fetch(request)).text();
      }),
    );
    const estimate = new Request(`${GENERATIONS}/estimate`, {
      method: "POST",
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
      body: JSON.stringify(BODY),
    });
    others.push(await (await gateway.fetch(estimate)).text());
    expect(others[2]).toContain('"charge":"0.25"');
    for (const seen of [text, JSON.stringify([...headers]), ...others]) {
      expect(seen).not.toContain("123456789");
      expect(seen).not.toMatch(/cost/i);
    }
  });

  it.each<[what: string, provider: Provider, expected: object]>([
    [
      "0 if the provider refused the request",
      () => Response.json({ error: { code: "RateLimitExceeded", message: "-" } }, { status: 429 }),
      { cost: "0", costLines: [{ channel: "ark", amount: "0" }] },
    ],
    [
      "not known after an error of the provider, because images may have been made",
      () => Response.json({ error: { code: "InternalServiceError", message: "-" } }, { status: 500 }),
      { costLines: [{ channel: "ark", unknownBecause: "unknown_outcome" }] },
    ],
    [
      "not known if the response breaks off",
      () => {
        const body = new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(JSON.stringify(ARK_RESPONSE).slice(0, 60)));
            controller.error(new Error("cut"));
          },
        });
        return new Response(body, { headers: { "content-type": "application/json" } });
      },
      { costLines: [{ channel: "ark", unknownBecause: "unknown_outcome" }] },
    ],
    [
      "that of the images that the provider reports, also beyond the request",
      () => Response.json({ ...ARK_RESPONSE, usage: { generated_images: 3 } }),
      { cost: "0.3", charge: "0.25", reportedUsage: { generated_images: 3 } },
    ],
  ])("is %s", async (_what, provider, expected) => {
    const record = await recordOf(open([channel("ark", { "*": perImage("0.1") })], provider));
    expect(record).toMatchObject(expected);
    expect("cost" in record).toBe("cost" in expected);
  });

  it("is not known if tokens have a cost and were not reported", async () => {
    const costs = { "*": { pricing_mode: "per-token", output_token_price: "1" } } as const;
    const { cost, costLines } = await recordOf(open([channel("ark", costs)], withoutTokens));
    expect({ cost, costLines }).toEqual({ costLines: [{ channel: "ark", unknownBecause: "not_reported" }] });
  });

  it("is not known if an attempt before may have made an image", async () => {
    const costs = { "*": perImage("0.1") };
    const channels = [channel("first", costs, { priority: 1, retryUnsafe: true }), channel("second", costs)];
    const { cost, costLines } = await recordOf(open(channels, failingFirst));
    expect(cost).toBeUndefined();
    expect(costLines).toMatchObject([
      { unknownBecause: "earlier_attempt" },
      { channel: "second", amount: "0.1" },
    ]);
  });

  it("is that of the channel that made the image after another one was not reached", async () => {
    const channels = [
      channel("first", { "*": perImage("0.1") }, { priority: 1 }),
      channel("second", { "*": perImage("0.2") }),
    ];
    expect(await recordOf(open(channels, unreachable("first")))).toMatchObject({
      cost: "0.2",
      costLines: [{ channel: "second" }],
    });
  });
});

describe("the cost of a request of several upstream calls", () => {
  it("is the sum over their channels", async () => {
    let calls = 0;
    const provider: Provider = ({ url }) => {
      calls += Number(url.includes("first"));
      const isRefused = url.includes("first") && calls > 1;
      const body = { code: "Throttling.RateQuota", message: "-" };
      return isRefused ? Response.json(body, { status: 429 }) : Response.json(DASHSCOPE_RESPONSE);
    };
    const channels = [
      bailian("first", { "*": perImage("0.1") }, 1),
      bailian("second", { "*": perImage("0.2") }),
    ];
    const { cost, costLines = [] } = await recordOf(open(channels, provider, OF_QWEN), several);
    expect(cost).toBe("0.5");
    expect(costLines.map(({ call, channel: id, amount }) => [call, id, amount])).toEqual([
      [0, "first", "0.1"],
      [1, "second", "0.2"],
      [2, "second", "0.2"],
    ]);
  });

  it("is not known if that of one call is not, and the lines say which", async () => {
    let calls = 0;
    const provider: Provider = () =>
      ++calls === 2 ? Response.json({}, { status: 500 }) : Response.json(DASHSCOPE_RESPONSE);
    const record = await recordOf(
      open([bailian("only", { "*": perImage("0.1") })], provider, OF_QWEN),
      several,
    );
    expect(record).not.toHaveProperty("cost");
    expect(record).toMatchObject({
      images: 2,
      costLines: [
        { call: 0, amount: "0.1" },
        { call: 1, unknownBecause: "unknown_outcome" },
        { call: 2, amount: "0.1" },
      ],
    });
  });
});

describe("the cost of a task", () => {
  const costs = { "*": perImage("0.1") };

  it("is in its record, and not in the task", async () => {
    const { post, gateway, records, ended } = openTaskGateway(undefined, {
      models: MODELS,
      channels: [channel("ark", costs)],
    });
    const submitted = await post(BODY, ASYNC);
    expect((await ended(submitted)).status).toBe("completed");
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records).toMatchObject([{ task: submitted.body["id"], charge: "0.3", cost: "0.1" }]);
    const request = new Request(`http://gateway.test/v1/images/tasks/${String(submitted.body["id"])}`, {
      headers: { authorization: `Bearer ${CALLER_KEY}` },
    });
    const shown = await (await gateway.fetch(request)).text();
    expect(shown).toContain('"completed"');
    expect(shown).not.toMatch(/cost/i);
  });

  it("that another process continues is that of the channel there", async () => {
    const ledger = createMemoryLedger();
    const options = { channels: [{ id: "one", family: "darkroom", apiKey: "k", costs }] };
    const first = openWaitingDarkroom(ledger, options);
    const response = first.post({ model: "film", prompt: "a fox", n: 2 });
    await cutOffWhenPolled(first);
    await response;
    const next = openDarkroom(ledger, () => Response.json(DONE), options);
    next.gateway.start();
    await vi.waitFor(() => expect(next.records).toHaveLength(1));
    expect(next.records).toMatchObject([{ images: 2, charge: "0.2", cost: "0.2" }]);
    await next.gateway.close();
  });
});

describe("costs that the provider reports", () => {
  const models = { "grok-image": { family: "openai" } };
  const xai = { id: "xai", family: "openai", dialect: "xai", apiKey: "k", costs: "reported" } as const;
  const openXai = (usage: object | undefined) =>
    open([xai], () => Response.json({ data: [{ url: "https://x.test/1.png" }], usage }), {
      models,
      families: [openai],
    });
  const request = { model: "grok-image", prompt: "a fox" };

  it("are the cost of the request", async () => {
    expect(await recordOf(openXai({ cost_in_usd_ticks: 700_000_000 }), request)).toMatchObject({
      cost: "0.07",
      costLines: [{ channel: "xai", amount: "0.07", isReported: true }],
      charge: "0.25",
    });
  });

  it("are not known if a response does not report them", async () => {
    const { cost, costLines } = await recordOf(openXai(undefined), request);
    expect({ cost, costLines }).toEqual({ costLines: [{ channel: "xai", unknownBecause: "not_reported" }] });
  });
});

describe("what a provider says of its cost", () => {
  it.each([
    ["recraft", { created: 1, credits: 987, data: [{ b64_json: "iVBORw0KGgo=" }] }],
    ["ideogram", { usage_cost_usd_micros: 987_000, data: [{ url: "https://ideogram.ai/a.png" }] }],
  ])("of %s is in the record, and not in the response", async (dialect, body) => {
    const { post, records } = createTestGateway(() => Response.json(body), {
      models: { painter: { family: "openai" } },
      families: [openai],
      channels: [{ id: "x", family: "openai", dialect, apiKey: "k", costs: "reported" }],
    });
    const { status, text } = await post({ model: "painter", prompt: "a fox" });
    expect(status).toBe(200);
    expect(text).not.toMatch(/cost|credits|987/);
    expect(records).toMatchObject([{ cost: "0.987", usage: { cost_usd: "0.987" } }]);
  });

  const USAGE = {
    prompt_tokens: 1,
    completion_tokens: 2,
    total_tokens: 3,
    cost: 0.987,
    cost_details: { upstream: 0.987 },
  };
  const ITEM = { b64_json: "iVBORw0KGgo=" };
  const EVENT = { type: "image_generation.completed", ...ITEM, created_at: 1, usage: USAGE };

  it.each<[what: string, dialect: string, respond: () => Response, body: object]>([
    ["JSON", "openrouter", () => Response.json({ created: 1, data: [ITEM], usage: USAGE }), {}],
    [
      "large JSON",
      "openrouter",
      () => Response.json({ created: 1, data: [{ b64_json: ITEM.b64_json.repeat(9_000) }], usage: USAGE }),
      {},
    ],
    [
      "xAI's JSON",
      "xai",
      () => Response.json({ data: [ITEM], usage: { cost_in_usd_ticks: 9_870_000_000 } }),
      {},
    ],
    [
      "a stream made of JSON",
      "xai",
      () => Response.json({ data: [ITEM], usage: { cost_in_usd_ticks: 9_870_000_000 } }),
      { stream: true },
    ],
    [
      "the provider's stream",
      "openrouter",
      () =>
        new Response(`data: ${JSON.stringify(EVENT)}\n\n`, {
          headers: { "content-type": "text/event-stream" },
        }),
      { stream: true },
    ],
  ])("is in the record, and not in %s", async (_what, dialect, respond, body) => {
    for (const streamFormat of ["native", "openai"] as const) {
      const opened = createTestGateway(respond, {
        models: { painter: { family: "openai" } },
        families: [openai],
        channels: [{ id: "x", family: "openai", dialect, apiKey: "k", costs: "reported" }],
        streamFormat: dialect === "xai" ? "openai" : streamFormat,
      });
      const { status, text } = await opened.post({ model: "painter", prompt: "a fox", ...body });
      expect(status).toBe(200);
      expect(text).toContain(ITEM.b64_json);
      expect(text).toContain('"usage"');
      expect(text).not.toMatch(/cost|987/i);
      expect(opened.records).toMatchObject([{ cost: "0.987", usage: { cost_usd: "0.987" } }]);
    }
  });
});

describe('routing by cost ("cost")', () => {
  const cheap = channel("cheap", { "*": perImage("0.1") });
  const dear = channel("dear", { "*": perImage("0.2") });
  const unknown = channel("unknown", undefined);

  it.each<[what: string, channels: readonly ChannelOptions[], expected: string]>([
    ["the cheapest", [dear, cheap], "cheap"],
    ["a cheaper one before one without costs", [unknown, dear], "dear"],
    ["a higher priority before a lower cost", [cheap, { ...unknown, priority: 1 }], "unknown"],
    ["by weight among equal costs", [{ ...cheap, id: "a", baseUrl: "https://a.test/v3" }, cheap], "a"],
  ])("uses %s", async (_what, channels, expected) => {
    expect(await used(channels)).toEqual([expected]);
  });

  it("estimates the images of the request", async () => {
    const request = { ...BODY, sequential_image_generation: "auto" };
    const byImage = channel("images", { "*": perImage("0.1") });
    const byToken = channel("tokens", { "*": { pricing_mode: "per-token", output_token_price: "10" } });
    // One image of 1024 × 1024 has at most 4,096 tokens, one of 4096 × 4096 has 65,536.
    expect(await used([byImage, byToken], { ...request, size: "1440x2560", n: 1 })).toEqual(["images"]);
    const perSmall = channel("small", {
      "*": {
        pricing_mode: "per-request",
        image_prices: [{ up_to_pixels: 4_194_304, price: "0.05" }, { price: "0.9" }],
      },
    });
    expect(await used([byImage, perSmall], { ...BODY, size: "2048x2048" })).toEqual(["small"]);
    expect(await used([byImage, perSmall], { ...BODY, size: "4096x4096" })).toEqual(["images"]);
  });

  it("tries the next channel by cost if one fails", async () => {
    expect(await used([unknown, dear, cheap], BODY, unreachable("cheap"))).toEqual(["cheap", "dear"]);
  });
});

describe("wrong costs", () => {
  it.each<[what: string, costs: unknown, expected: RegExp]>([
    ["a number", 5, /^channels\[0\]\.costs must be an object of prices by model, or "reported"$/],
    [
      "a price without a mode",
      { "*": { model_price: "1" } },
      /^channels\[0\]\.costs\["\*"\].* needs pricing_mode/,
    ],
    [
      "a price that is no number",
      { "*": perImage("cheap") },
      /^channels\[0\]\.costs\["\*"\]\.model_price must be a decimal/,
    ],
    [
      "a model that does not exist",
      { sedream: perImage("1") },
      /^channels\[0\]\.costs\.sedream is a cost without a model/,
    ],
    [
      "a model of another family",
      { "image-max": perImage("1") },
      /^channels\[0\]\.costs\.image-max is a cost without/,
    ],
    [
      "reported costs of a family that reports none",
      "reported",
      /^channels\[0\]\.costs must have prices: seedream does not/,
    ],
    ["a group ratio", { "*": { ...perImage("1"), group_ratio: "2" } }, /group_ratio/],
  ])("such as %s are problems", (_what, costs, expected) => {
    expect(problemsOf(costs)).toEqual([expect.stringMatching(expected)]);
  });

  it("such as costs by token of a family that reports no tokens are problems", () => {
    const costs = { "*": { pricing_mode: "per-token", output_token_price: "1" } };
    expect(problemsOf(costs, { family: "qwen-image", baseUrl: undefined }, OF_QWEN)).toEqual([
      expect.stringMatching(/^channels\[0\]\.costs\["\*"\] must be per-request/),
    ]);
  });

  it("of several channels are reported together", () => {
    const channels = [channel("a", { none: perImage("1") }), channel("b", "reported")];
    expect(() => open(channels)).toThrow(/channels\[0\][^]*channels\[1\]/);
  });

  it("need the feature in a composition", () => {
    const options = {
      models: { [MODEL]: { family: "seedream" } },
      channels: [channel("a", { "*": perImage("1") })],
      callers: [],
    };
    expect(() => composeGateway(options, { families: [seedream] })).toThrow(
      "channels[0].costs needs the feature costs",
    );
  });

  it("such as an unknown routing are problems", () => {
    // @ts-expect-error The routing is wrong.
    expect(() => open([channel("a", undefined)], undefined, { routing: "cheap" })).toThrow(
      'routing must be "priority" or "cost"',
    );
  });
});

const price = fc
  .tuple(fc.nat(10 ** 6), fc.nat(12))
  .map(([units, places]) => formatDecimal({ units: BigInt(units), places }));

describe("for any prices and costs", () => {
  it("the charge is that without costs, and the cost is the sum of its lines", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ price, first: price, second: fc.option(price), n: fc.integer({ min: 1, max: 5 }) }),
        fc.array(fc.constantFrom(200, 429, 500), { minLength: 8, maxLength: 8 }),
        async ({ price: charged, first, second, n }, statuses) => {
          const run = async (hasCosts: boolean) => {
            let calls = 0;
            const provider: Provider = () => {
              const status = statuses[calls++ % statuses.length] ?? 200;
              return Response.json(status === 200 ? DASHSCOPE_RESPONSE : { code: "x", message: "-" }, {
                status,
              });
            };
            const channels = [first, second].map((paid, at) =>
              channel(`c${at}`, hasCosts && paid !== null ? { "*": perImage(paid) } : undefined, {
                family: "qwen-image",
                priority: -at,
              }),
            );
            const billing = { model_details: { "*": perImage(charged) } };
            const opened = createTestGateway(
              provider,
              { ...OF_QWEN, channels, billing },
              { random: () => 0, now: () => 0, createId: () => "req_1" },
            );
            await opened.post({ model: "image-max", prompt: "a fox", n });
            return opened.records[0];
          };
          const { cost, costLines, ...record } = (await run(true)) ?? {};
          expect(record).toEqual((await run(false)) ?? {});
          const amounts = costLines?.map(({ amount }) => amount);
          const sum = amounts?.includes(undefined)
            ? undefined
            : amounts &&
              formatDecimal(amounts.map((one) => readDecimal(one ?? null)).reduce(addDecimals, ZERO));
          expect(cost).toBe(sum);
        },
      ),
      { numRuns: 60 },
    );
  });
});
