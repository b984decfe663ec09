import { describe, expect, it } from "vitest";
import type { ModelDetails } from "../../billing/model-details.js";
import type { SettledRecord } from "../../billing/records.js";
import { openai } from "../../families/openai/openai.js";
import { createTestGateway, type Provider } from "../../testing/test-gateway.js";
import { repriceRecords } from "./reprice.js";

const SEEDREAM = { model: "doodle", prompt: "a fox", size: "2048x2048" };
const OPENAI = { model: "gpt-image-2", prompt: "a fox" };
const LINK = "https://example.com/a.png";

const flat: ModelDetails = { pricing_mode: "per-request", model_price: "1" };
const oneTier: ModelDetails = { pricing_mode: "per-request", image_prices: [{ price: "1" }] };
const twoTiers: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [{ up_to_pixels: 1_048_576, price: "1" }, { price: "10" }],
};
const references: ModelDetails = { ...oneTier, reference_image_price: "10" };
const byToken: ModelDetails = { pricing_mode: "per-token", output_token_price: "1000000" };
const qualities = (low: string, high: string): ModelDetails => ({
  pricing_mode: "per-request",
  image_prices: [
    { quality: "low", price: low },
    { quality: "high", price: high },
  ],
});

type Body = { readonly model: string; readonly [field: string]: unknown };

const ark =
  (data: readonly object[], usage?: object): Provider =>
  () =>
    Response.json({ model: "m", data, usage });
const image = { url: LINK, size: "1024x1024" };
const large = { url: LINK, size: "2048x2048" };

/** The record of a request to a gateway with this price. */
async function recordOf(body: Body, provider: Provider, details: ModelDetails): Promise<SettledRecord> {
  const family = body.model === "doodle" ? "seedream" : "openai";
  const { post, records } = createTestGateway(provider, {
    families: [openai],
    models: { [body.model]: { family } },
    channels: [{ id: "one", family, apiKey: "channel-canary-1" }],
    billing: { model_details: { "*": details } },
  });
  await post(body);
  const [record] = records;
  if (record === undefined) throw new Error("There is no record.");
  return record;
}

describe("repriceRecords computes what a gateway with the other prices charges", () => {
  it.each<[string, Body, Provider, ModelDetails, ModelDetails, string]>([
    [
      "no image, and tokens only: nothing by image",
      SEEDREAM,
      ark([], { output_tokens: 5, total_tokens: 5 }),
      byToken,
      flat,
      "0",
    ],
    [
      "no report, from a flat price to prices by size: each image",
      SEEDREAM,
      ark([image, image]),
      flat,
      oneTier,
      "2",
    ],
    ["no report, and back: one image", SEEDREAM, ark([image, image]), oneTier, flat, "1"],
    [
      "a quality that nobody stated: the highest price",
      OPENAI,
      () => Response.json({ created: 1, data: [{ b64_json: "iVBORw0KGgo=" }] }),
      qualities("8", "1"),
      qualities("1", "8"),
      "8",
    ],
    ["two sizes in one line: each by its size", SEEDREAM, ark([image, large]), oneTier, twoTiers, "11"],
    [
      "two sizes, and a flat price before",
      SEEDREAM,
      ark([image, large], { generated_images: 2 }),
      flat,
      twoTiers,
      "11",
    ],
    [
      "fewer references in the report than in the request",
      { ...SEEDREAM, image: [LINK, LINK, LINK] },
      ark([image], { generated_images: 1, input_images: 2 }),
      oneTier,
      references,
      "31",
    ],
    [
      "more images than a record describes",
      SEEDREAM,
      ark(Array.from({ length: 70 }, (_, at) => ({ url: LINK, size: `${at + 1}x1` }))),
      oneTier,
      flat,
      "1",
    ],
  ])("%s", async (_what, body, provider, before, after, charge) => {
    const record = await recordOf(body, provider, before);
    expect((await recordOf(body, provider, after)).charge).toBe(charge);
    const prices = { model_details: { "*": after } };
    // As a database returns it.
    const stored: SettledRecord = JSON.parse(JSON.stringify(record));
    expect(await repriceRecords([record, stored], prices)).toMatchObject({
      newCharge: String(Number(charge) * 2),
      estimated: 0,
    });
  });

  it("and marks what the record of an older version does not say", async () => {
    const { priceBasis, ...older } = await recordOf(SEEDREAM, ark([image, large]), oneTier);
    expect(priceBasis?.made).toHaveLength(2);
    const { estimated } = await repriceRecords([older], { model_details: { "*": twoTiers } });
    expect(estimated).toBe(1);
  });

  it("and marks it if the images differ in more ways than a record keeps", async () => {
    const sizes = Array.from({ length: 70 }, (_, at) => ({ url: LINK, size: `${at + 1}x1` }));
    const record = await recordOf(SEEDREAM, ark(sizes), oneTier);
    expect(record.priceBasis).toBeUndefined();
    expect((await repriceRecords([record], { model_details: { "*": twoTiers } })).estimated).toBe(1);
  });
});
