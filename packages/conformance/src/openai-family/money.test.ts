import { createMemoryLedger, type GatewayOptions } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { start } from "./start.ts";

const GENERATIONS = "/v1/images/generations";
const BODY = { model: "gpt-image-2", prompt: "a red fox", size: "1024x1024", quality: "low" };
const billing = (details: object, group_ratio?: Record<string, string>): Partial<GatewayOptions> => ({
  billing: {
    model_details: { "gpt-image-2": details as never },
    ...(group_ratio && { group_ratio }),
  },
});

/** OpenAI's prices of gpt-image-2, in dollars for a million tokens. */
const TOKEN_PRICES = {
  pricing_mode: "per-token",
  output_token_price: "30",
  input_text_token_price: "5",
  input_image_token_price: "8",
  cached_input_token_price: "1.25",
  output_text_token_price: "0",
};

describe("prices by token", () => {
  it("charge each kind of token that was reported", async () => {
    const { post, records } = await start({ options: billing(TOKEN_PRICES) });
    await (await post(GENERATIONS, { ...BODY, n: 2 })).text();
    // 3 tokens of text × 5 + 2 × 200 tokens of images × 30, for a million.
    expect(records).toMatchObject([
      {
        images: 2,
        charge: "0.012015",
        usage: { generated_images: 2, input_text_tokens: 3, output_image_tokens: 400, total_tokens: 403 },
      },
    ]);
  });

  it("charge cached tokens at their own price, and take them off the prompt first", async () => {
    const { post, emulator, records } = await start({ options: billing(TOKEN_PRICES) });
    emulator.faults.add({
      usage: {
        input_tokens: 300,
        output_tokens: 200,
        total_tokens: 500,
        input_tokens_details: { text_tokens: 100, image_tokens: 200, cached_tokens: 150 },
      },
    });
    await (await post(GENERATIONS, { ...BODY, prompt: "a red fox ".repeat(40) })).text();
    expect(records[0]?.usage).toMatchObject({
      cached_input_tokens: 150,
      input_text_tokens: 0,
      input_image_tokens: 150,
    });
    // 150 × 8 + 150 × 1.25 + 200 × 30
    expect(records[0]?.charge).toBe("0.0073875");
  });

  it.each([
    ["the requested quality and size", BODY, "0.0075"],
    ["the dearest quality", { ...BODY, quality: "auto" }, "0.22"],
    ["the dearest quality and size", { model: "gpt-image-2", prompt: "a red fox" }, "0.22"],
    ["larger sizes in proportion", { ...BODY, size: "3840x2160", quality: "high" }, "1.12"],
    ["partial images", { ...BODY, stream: true, partial_images: 3 }, "0.0165"],
  ])("hold %s", async (_what, body, atMost) => {
    const ledger = createMemoryLedger();
    const holds: (string | null)[] = [];
    const watched = Object.assign(Object.create(ledger), {
      hold(record: Parameters<typeof ledger.hold>[0]) {
        holds.push(record.amount);
        return ledger.hold(record);
      },
    });
    const { post, records } = await start({ options: { ...billing(TOKEN_PRICES), ledger: watched } });
    await (await post(GENERATIONS, body)).text();
    const [held] = holds;
    const [record] = records;
    expect(Number(held)).toBeLessThan(Number(atMost));
    expect(Number(held)).toBeGreaterThan(Number(atMost) * 0.9);
    expect(Number(record?.charge)).toBeLessThanOrEqual(Number(held));
    expect(record?.reportedUsage).toBeUndefined();
  });

  it("refuse what the budget does not cover", async () => {
    const { post } = await start({
      options: {
        ...billing(TOKEN_PRICES),
        callers: [{ id: "me", key: "caller-key-openai-family", budget: "0.1" }],
      },
    });
    expect((await post(GENERATIONS, { ...BODY, quality: "high" })).status).toBe(403);
    expect((await post(GENERATIONS, BODY)).status).toBe(200);
  });

  it("without a report charge nothing and mark the record", async () => {
    const { post, emulator, records } = await start({ options: billing(TOKEN_PRICES) });
    emulator.faults.add({ omitUsage: true });
    await (await post(GENERATIONS, BODY)).text();
    expect(records).toMatchObject([{ images: 1, charge: "0", unpriced: true }]);
  });
});

describe("prices by image", () => {
  const prices = {
    pricing_mode: "per-request",
    image_prices: [
      { quality: "low", up_to_pixels: 1_048_576, price: "0.006" },
      { quality: "low", price: "0.02" },
      { up_to_pixels: 1_572_864, price: "0.211" },
      { price: "1" },
    ],
  };

  it.each([
    ["low", "1024x1024", "0.012"],
    ["low", "2048x2048", "0.04"],
    ["high", "1536x1024", "0.422"],
    ["auto", "auto", "0.422"],
  ])("charge quality %s and size %s, as the response says them", async (quality, size, charge) => {
    const { post, records } = await start({ options: billing(prices) });
    await (await post(GENERATIONS, { ...BODY, quality, size, n: 2 })).text();
    expect(records).toMatchObject([{ images: 2, charge }]);
  });

  it("read quality and size also of large responses and of streams", async () => {
    const { post, records } = await start({ options: billing(prices), emulator: { images: "full" } });
    await (await post(GENERATIONS, { ...BODY, n: 2 })).text();
    await (await post(GENERATIONS, { ...BODY, n: 2, stream: true })).text();
    expect(records.map(({ charge }) => charge)).toEqual(["0.012", "0.012"]);
  });

  it("that are flat count the images of the response", async () => {
    const { post, records } = await start({
      options: billing({ pricing_mode: "per-request", model_price: "0.05" }),
    });
    await (await post(GENERATIONS, { ...BODY, n: 3 })).text();
    await (await post(GENERATIONS, { ...BODY, n: 3, stream: true })).text();
    expect(records.map(({ charge }) => charge)).toEqual(["0.15", "0.15"]);
  });
});
