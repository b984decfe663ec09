import { describe, expect, it } from "vitest";
import type { ItemizedDerivation } from "./billing/charge.js";
import type { ModelDetails } from "./billing/model-details.js";
import type { SettledRecord } from "./billing/records.js";
import { openai } from "./families/openai/openai.js";
import { cutEvery } from "./testing/cut-bytes.js";
import { imageBase64 } from "./testing/large-responses.js";
import {
  createPost,
  createTestGateway,
  NATIVE,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";

/** Each size, each layer and each reference has a digit of its own. */
const PRICES: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [
    { up_to_pixels: 1_048_576, price: "1" },
    { up_to_pixels: 4_194_304, price: "10" },
    { price: "100" },
  ],
  layer_price: "0.1",
  reference_image_price: "0.001",
};
const SMALL = "1024x1024";
const MEDIUM = "2048x2048";
const LARGE = "4096x4096";

/** A model without a row, so that any size may come. */
const BODY = { model: "doodle", prompt: "a fox" };
const REFERENCE = "https://example.com/a.png";

const open = (provider: Provider, details: ModelDetails = PRICES): TestGateway =>
  createTestGateway(provider, { billing: { model_details: { "*": details } } });

const item = (size?: string, rest: object = {}): object => ({ url: "https://ark.test/1.png", size, ...rest });
const ark = (data: readonly object[], usage?: object): Response => Response.json({ model: "m", data, usage });

function onlyRecord({ records }: Pick<TestGateway, "records">): SettledRecord {
  const [record] = records;
  if (record === undefined) throw new Error("There is no record.");
  return record;
}

/** The lines of a charge, as `count what at pixels (source of the pixels)`. */
function linesOf({ derivation }: SettledRecord): readonly string[] {
  return (derivation as ItemizedDerivation).lines.map((line) => {
    if (line.what === "rounding") return `rounding ${line.amount}`;
    const { count, what, pixels, pixels_source } = line;
    return [`${count} ${what}`, ...(pixels === undefined ? [] : [`${pixels} (${pixels_source})`])].join(" ");
  });
}

const picture = (size: string, rest: object = {}): object => ({ b64_json: imageBase64(), size, ...rest });
const large = (data: readonly object[]): Uint8Array =>
  new TextEncoder().encode(JSON.stringify({ model: "m", data, usage: { generated_images: data.length } }));

const event = (type: string, fields: object): string =>
  `event: image_generation.${type}\ndata: ${JSON.stringify({ type: `image_generation.${type}`, ...fields })}\n\n`;

const image = (index: number, size?: string): string =>
  event("partial_succeeded", { image_index: index, url: "https://ark.test/1.png", size });

const stream = (text: string): Response =>
  new Response(text, { headers: { "content-type": "text/event-stream" } });

const dashscope = (usage: object, images = 1): Response =>
  Response.json({
    output: {
      choices: [
        {
          message: {
            role: "assistant",
            content: Array.from({ length: images }, () => ({ image: "https://dashscope.test/1.png" })),
          },
        },
      ],
    },
    usage,
    request_id: "id",
  });

async function findHold(fields: object): Promise<string> {
  let held = "";
  const opened = open(async () => {
    ({ held } = await opened.gateway.usage.balance("me"));
    return Response.json({ error: { code: "InvalidParameter", message: "No." } }, { status: 400 });
  });
  await opened.post({ ...BODY, ...fields });
  return held;
}

describe("a JSON response of Ark is charged", () => {
  const auto = {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 4 },
  };

  it.each<[string, object, readonly object[], object | undefined, string]>([
    [
      "by the size of each image",
      auto,
      [item(SMALL), item(LARGE), item(SMALL)],
      { generated_images: 3 },
      "102",
    ],
    ["by the requested size if an item has none", { size: MEDIUM }, [item()], { generated_images: 1 }, "10"],
    [
      "by the largest size of a requested preset",
      { model: "seedream-4-0-250828", size: "1K" },
      [item()],
      { generated_images: 1 },
      "1",
    ],
    ["at the highest price if no size is known", {}, [item()], { generated_images: 1 }, "100"],
    [
      "without items that failed",
      auto,
      [item(SMALL), { error: { code: "x", message: "y" } }],
      undefined,
      "1",
    ],
    ["by its images if the provider reports no count", auto, [item(SMALL), item(SMALL)], undefined, "2"],
    ["at most by the requested size", { size: SMALL }, [item(LARGE)], { generated_images: 1 }, "1"],
    ["for an image that it does not hold", auto, [item(SMALL)], { generated_images: 2 }, "101"],
    [
      "for reference images",
      { image: [REFERENCE, REFERENCE] },
      [item(SMALL)],
      { generated_images: 1 },
      "1.002",
    ],
    [
      "for the base image and its layers",
      { image: REFERENCE, layer_decomposition: true },
      [item(MEDIUM, { z_index: 0 }), item(SMALL, { z_index: 1 }), item(SMALL, { z_index: 2 })],
      { generated_images: 3 },
      "10.201",
    ],
  ])("%s", async (_what, fields, data, usage, charge) => {
    for (const send of ["post", "postNative"] as const) {
      const gateway = open(() => ark(data, usage));
      expect((await gateway[send]({ ...BODY, ...fields })).status).toBe(200);
      expect(onlyRecord(gateway).charge).toBe(charge);
    }
  });

  it("and the record says that the response had a larger image than was requested", async () => {
    const gateway = open(() => ark([item(LARGE)], { generated_images: 1 }));
    await gateway.post({ ...BODY, size: MEDIUM });
    expect(onlyRecord(gateway)).toMatchObject({ charge: "10", reportedPixels: 16_777_216 });
    expect(gateway.logs).toMatchObject([{ level: "error", fields: { reportedPixels: 16_777_216 } }]);
  });

  it("and the record keeps what the provider reported besides", async () => {
    const usage = {
      generated_images: 1,
      input_images: 2,
      tool_usage: { web_search: 3, wrong: "x" },
      other: 1,
    };
    const gateway = open(() => ark([item(SMALL)], usage));
    await gateway.post(BODY);
    expect(onlyRecord(gateway).usage).toEqual({
      generated_images: 1,
      input_images: 2,
      tool_usage: { web_search: 3 },
    });
  });
});

describe("a JSON response that is relayed is charged by its sizes", () => {
  const auto = {
    ...BODY,
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 4 },
  };
  it.each<[string, Uint8Array]>([
    ["behind the base64", large([picture(SMALL), picture(LARGE), picture(SMALL)])],
    ["before the base64", large([SMALL, LARGE, SMALL].map((size) => ({ size, b64_json: imageBase64() })))],
    ["of items of any length", large([picture(SMALL), item(LARGE, { trace: imageBase64() }), item(SMALL)])],
  ])("%s, wherever its chunks end", async (_what, text) => {
    for (const bytes of [997, 65_536]) {
      for (const url of ["/v1", NATIVE]) {
        const gateway = open(() => new Response(ReadableStream.from(cutEvery(text, bytes))));
        const request = url === NATIVE ? new Request(NATIVE, createPost(auto)) : createPost(auto);
        const response = await gateway.gateway.fetch(request);
        expect((await response.text()).length).toBeGreaterThan(100_000);
        expect(onlyRecord(gateway).charge).toBe("102");
      }
    }
  });

  it("also for layers", async () => {
    const text = large([picture(SMALL, { z_index: 0 }), picture(SMALL, { z_index: 1 })]);
    const gateway = open(() => new Response(ReadableStream.from(cutEvery(text, 5_000))));
    await gateway.post({ ...BODY, image: REFERENCE, layer_decomposition: true });
    expect(linesOf(onlyRecord(gateway))).toEqual([
      "1 image 1048576 (response)",
      "1 layer 1048576 (response)",
      "1 reference_image",
    ]);
  });
});

describe("a stream is charged by its sizes", () => {
  const auto = {
    ...BODY,
    stream: true,
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 4 },
  };

  it.each<[string, object, string, string]>([
    [
      "with the report at its end",
      {},
      image(0, SMALL) + image(1, LARGE) + event("completed", { usage: { generated_images: 2 } }),
      "101",
    ],
    ["without a report", {}, image(0, SMALL) + image(1, MEDIUM), "11"],
    ["an image that came twice once", {}, image(0, SMALL) + image(0, SMALL) + image(1, SMALL), "2"],
    ["an image without a size by the requested one", { size: MEDIUM }, image(0, SMALL) + image(1), "11"],
    ["an image without any size at the highest price", {}, image(0, SMALL) + image(1), "101"],
    [
      "without images that failed",
      {},
      image(0, SMALL) + event("partial_failed", { image_index: 1, error: { code: "x", message: "y" } }),
      "1",
    ],
    ["with its references", { image: REFERENCE }, image(0, SMALL), "1.001"],
  ])("%s", async (_what, fields, text, charge) => {
    for (const send of ["post", "postNative"] as const) {
      const gateway = open(() => stream(text));
      await gateway[send]({ ...auto, ...fields });
      expect(onlyRecord(gateway).charge).toBe(charge);
    }
  });

  it("also if its body is JSON", async () => {
    const body = JSON.stringify({ data: [item(SMALL), item(MEDIUM)], usage: { generated_images: 2 } });
    const gateway = open(() => stream(body));
    await gateway.post(auto);
    expect(onlyRecord(gateway).charge).toBe("11");
  });
});

describe("a response of DashScope is charged", () => {
  it.each<[string, object, object, number, string]>([
    ["by width and height", {}, { width: 1024, height: 1024, image_count: 1 }, 1, "1"],
    [
      "by output_width and output_height",
      { n: 2 },
      { output_width: 2048, output_height: 2048, output_image_count: 2, input_image_count: 0 },
      2,
      "20",
    ],
    ["by the requested size without them", { size: "1024*1024" }, { image_count: 1 }, 1, "1"],
    ["by the largest size of the model without either", {}, { image_count: 1 }, 1, "10"],
    ["by its images without any report", { n: 2, size: "1024*1024" }, {}, 2, "2"],
    [
      "for its references",
      { image: [REFERENCE, REFERENCE], size: "1024*1024" },
      { image_count: 1, input_image_count: 9 },
      1,
      "1.002",
    ],
  ])("%s", async (_what, fields, usage, images, charge) => {
    const gateway = open(() => dashscope(usage, images));
    expect((await gateway.post({ ...BODY, model: "image-2.0", ...fields })).status).toBe(200);
    expect(onlyRecord(gateway).charge).toBe(charge);
  });

  it("for the references of each call of several that made an image", async () => {
    let calls = 0;
    const gateway = open(() =>
      ++calls === 2
        ? Response.json({ code: "DataInspectionFailed", message: "No.", request_id: "id" }, { status: 400 })
        : dashscope({ image_count: 1 }),
    );
    const fields = { n: 3, size: "1328*1328", image: REFERENCE };
    await gateway.post({ ...BODY, model: "image-max", ...fields });
    expect(onlyRecord(gateway)).toMatchObject({ images: 2, charge: "20.002" });
    expect(linesOf(onlyRecord(gateway))).toEqual(["2 image 1763584 (request)", "2 reference_image"]);
  });
});

describe("a request is held at what it can cost", () => {
  it.each<[string, object, string]>([
    ["an image of unknown size", {}, "100"],
    ["an image of a known size", { size: MEDIUM }, "10"],
    ["several images", { size: SMALL, n: 3 }, "3"],
    ["references", { size: SMALL, image: [REFERENCE, REFERENCE] }, "1.002"],
    ["every layer", { size: SMALL, image: REFERENCE, layer_decomposition: true }, "10.901"],
    ["every upstream call", { model: "image-max", size: "1328*1328", n: 3, image: REFERENCE }, "30.003"],
  ])("%s", async (_what, fields, held) => {
    expect(await findHold(fields)).toBe(held);
  });
});

describe("prices by quality", () => {
  const details: ModelDetails = {
    pricing_mode: "per-request",
    image_prices: [
      { quality: "low", price: "8" },
      { quality: "high", price: "1" },
    ],
  };

  it.each<[string, object, object, string | false, string]>([
    ["only if somebody stated it", {}, {}, false, "8"],
    ["that is not auto", { quality: "auto" }, {}, false, "8"],
    ["that the request had", { quality: "high" }, {}, "high", "1"],
    ["that the response had", {}, { quality: "high" }, "high", "1"],
  ])("a record states a quality %s", async (_which, asked, made, quality, charge) => {
    const test = createTestGateway(
      () => Response.json({ created: 1, data: [{ b64_json: imageBase64() }], ...made }),
      {
        families: [openai],
        models: { "gpt-image-2": { family: "openai" } },
        channels: [{ id: "openai", family: "openai", apiKey: "openai-canary-1" }],
        billing: { model_details: { "*": details } },
      },
    );
    await test.post({ model: "gpt-image-2", prompt: "a fox", ...asked });
    const record = onlyRecord(test);
    expect(record.charge).toBe(charge);
    const { lines } = record.derivation as ItemizedDerivation;
    expect(lines.map((line) => "quality" in line && line.quality)).toEqual([quality]);
  });
});
