import { openai } from "@calotype/core/families/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { sentUpstream } from "../../conformance/src/clients/support/sent-upstream.js";
import { listen } from "../../conformance/src/support/listen.js";
import { QWEN_IMAGE, SEEDREAM } from "../../conformance/src/support/test-gateway.js";
import { useProviders } from "../../conformance/src/support/use-providers.js";
import { CalotypeError, createClient, type ImageEvent } from "./index.js";
import { drawFile, openGateway, toDataUrl } from "./testing/open-gateway.js";

const providers = useProviders();
const open = (options: Parameters<typeof openGateway>[1] = {}) => openGateway(providers(), options);
const REQUEST = { model: SEEDREAM, prompt: "two herons", size: "1K" };
const REQUEST_ID = /^req_[\da-f]{32}$/;

async function collect(events: AsyncIterable<ImageEvent>): Promise<ImageEvent[]> {
  const all: ImageEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe("generate", () => {
  it("returns the images, the usage, the id of the request and the charge", async () => {
    const { client, records } = await open({ showCharge: true });

    const result = await client.generate({ ...REQUEST, n: 2 });

    expect(result).toMatchObject({
      data: [{ url: expect.stringMatching(/^http/) }, { url: expect.stringMatching(/^http/) }],
      usage: { generated_images: 2 },
      requestId: records[0]?.id,
      charge: "0.06",
    });
  });

  it("sends headers of the client and of the call, and a function's key", async () => {
    const { connect, records } = await open();
    const client = connect({
      apiKey: async () => "caller-canary-1f5d7c20",
      headers: { "X-Calotype-Tags": "a=1" },
    });

    await client.generate(REQUEST);
    await client.generate(REQUEST, { headers: { "x-calotype-tags": "b=2" } });

    expect(records).toMatchObject([{ tags: { a: "1" } }, { tags: { b: "2" } }]);
  });

  it("takes a base URL with /v1, as OpenAI's clients do", async () => {
    const { connect, url } = await open();
    const { data } = await connect({ baseUrl: `${url}/v1/` }).generate(REQUEST);
    expect(data).toHaveLength(1);
  });

  it("makes no stream, whatever the fields say", async () => {
    const { client } = await open();
    const { data } = await client.generate({ ...REQUEST, stream: true });
    expect(data).toHaveLength(1);
  });
});

describe("edit", () => {
  it("uploads files in their order, with the other fields", async () => {
    const { client, records } = await open();
    const images = [await drawFile(1), await drawFile(2)];

    const { data } = await client.edit({ ...REQUEST, images, n: 2, watermark: false });

    expect(data).toHaveLength(2);
    expect(sentUpstream(providers())).toMatchObject([
      {
        image: await Promise.all(images.map(toDataUrl)),
        watermark: false,
        sequential_image_generation: "auto",
      },
    ]);
    expect(records).toMatchObject([{ operation: "edit", images: 2 }]);
  });

  it("sends links as JSON, and a link beside a file in the form", async () => {
    const { client } = await open();
    const file = await drawFile(3);
    const link = await toDataUrl(await drawFile(4));

    await client.edit({ ...REQUEST, images: link });
    await client.edit({ ...REQUEST, images: [link, file] });

    expect(sentUpstream(providers())).toMatchObject([
      { image: [link] },
      { image: [link, await toDataUrl(file)] },
    ]);
  });

  it("gets the error of a wrong request", async () => {
    const { client } = await open();
    await expect(client.edit({ ...REQUEST, images: [] })).rejects.toMatchObject({
      name: "CalotypeError",
      code: "invalid_request_error",
      message: "image is required",
      param: "image",
      status: 400,
      requestId: expect.stringMatching(REQUEST_ID),
    });
  });
});

const image = (index: number) => ({ type: "image", index, image: { url: expect.stringMatching(/^http/) } });

describe("stream", () => {
  it.each(["native", "openai"] as const)(
    "yields each image, and then the usage: %s",
    async (streamFormat) => {
      const { client, records } = await open({ streamFormat });

      const events = await collect(client.stream({ ...REQUEST, prompt: "3 herons", n: 3 }));

      expect(events).toMatchObject([
        { type: "started", requestId: records[0]?.id },
        image(0),
        image(1),
        image(2),
        { type: "done", images: 3, usage: { generated_images: 3 } },
      ]);
      expect(Object.keys(events[1] ?? {})).toEqual(["type", "index", "image"]);
      expect(records).toMatchObject([{ images: 3, charge: "0.09" }]);
    },
  );

  it("yields an image before the next one exists, and base64 as it was sent", async () => {
    const { client } = await open({ streamFormat: "openai" });
    providers().emulator.faults.add({ stream: { keepAliveMs: 50 }, body: { pauseMs: 20 }, times: 1 });

    const events = await collect(client.stream({ ...REQUEST, response_format: "b64_json" }));

    const [, first] = events;
    if (first?.type !== "image") throw new Error("There is no image.");
    expect(Buffer.from(first.image.b64_json ?? "", "base64").subarray(0, 2)).toEqual(
      Buffer.from([0xff, 0xd8]),
    );
  });

  it.each(["native", "openai"] as const)(
    "yields images that failed, and those that came: %s",
    async (streamFormat) => {
      const { client } = await open({ streamFormat });
      providers().emulator.faults.add({ failImages: [{ index: 1 }], times: 1 });

      const events = await collect(client.stream({ ...REQUEST, prompt: "3 herons", n: 3 }));

      expect(events.filter(({ type }) => type === "image")).toHaveLength(2);
      expect(events.filter(({ type }) => type === "failed")).toMatchObject([
        { failure: { index: 1, code: expect.any(String), message: expect.any(String) } },
      ]);
      expect(events.at(-1)).toMatchObject({ type: "done", images: 2 });
    },
  );

  it("works with a model that does not stream, and charges it once", async () => {
    const { client, records } = await open();

    const events = await collect(client.stream({ model: QWEN_IMAGE, prompt: "two herons" }));

    expect(events.map(({ type }) => type)).toEqual(["started", "image", "done"]);
    expect(records).toMatchObject([{ images: 1, charge: "0.075" }]);
  });

  it("yields the images of JSON that a provider sent in place of a stream", async () => {
    const { client } = await open({ heartbeatSeconds: 0.1 });
    providers().emulator.faults.add({ latencyMs: 400, respondAs: "json", times: 1 });

    const events = await collect(client.stream({ ...REQUEST, prompt: "2 herons", n: 2 }));

    expect(events.map(({ type }) => type)).toEqual(["started", "image", "image", "done"]);
    expect(events.at(-1)).toMatchObject({ images: 2, usage: { generated_images: 2 } });
  });

  it("yields unfinished images of a model that sends them", async () => {
    const { client, records } = await open({
      families: [openai],
      models: { gpt: { family: "openai" } },
      channels: [
        {
          id: "openai",
          family: "openai",
          apiKey: "k",
          baseUrl: providers().server.baseUrls.openai,
          modelMapping: { gpt: "gpt-image-2" },
        },
      ],
      billing: undefined,
    });

    const events = await collect(client.stream({ model: "gpt", prompt: "a heron", n: 2, partial_images: 1 }));

    expect(events.map(({ type }) => type)).toEqual([
      "started",
      "preview",
      "image",
      "preview",
      "image",
      "done",
    ]);
    expect(events[1]).toEqual({
      type: "preview",
      image: expect.objectContaining({ b64_json: expect.any(String) }),
    });
    // The sum of what the provider reported for each image.
    expect(records).toMatchObject([{ images: 2, usage: { total_tokens: expect.any(Number) } }]);
    const usage = records.map((record) => ("usage" in record ? record.usage?.total_tokens : 0));
    expect(events.at(-1)).toMatchObject({ images: 2, usage: { total_tokens: usage[0] } });
  });

  it("edits the images of a request", async () => {
    const { client, records } = await open({ streamFormat: "openai" });
    const images = await drawFile(5);

    const events = await collect(client.stream({ ...REQUEST, images }));

    expect(events.map(({ type }) => type)).toEqual(["started", "image", "done"]);
    expect(records).toMatchObject([{ operation: "edit", images: 1 }]);
  });

  it("rejects with the provider's error after a stream has begun", async () => {
    const { client } = await open({ heartbeatSeconds: 0.1 });
    const code = "OutputImageSensitiveContentDetected";
    providers().emulator.faults.add({ latencyMs: 400, code, times: 1 });

    await expect(collect(client.stream(REQUEST))).rejects.toMatchObject({
      name: "CalotypeError",
      code,
      status: undefined,
      requestId: expect.stringMatching(REQUEST_ID),
      shouldRetry: false,
    });
  });
});

describe("models and estimate", () => {
  it("lists the models", async () => {
    const { client } = await open();
    const models = await client.models();
    expect(models.map(({ id }) => id)).toEqual(expect.arrayContaining([SEEDREAM, QWEN_IMAGE]));
    expect(models[0]?.capabilities.operations).toContain("generate");
  });

  it("estimates a request and an edit, whose files are not uploaded, and sends nothing", async () => {
    const { client, records } = await open({ showPrices: true });
    const images = [new Blob([new Uint8Array(10_000_000)], { type: "image/png" })];

    expect(await client.estimate({ ...REQUEST, n: 3 })).toEqual({
      model: SEEDREAM,
      max_images: 3,
      charge: "0.09",
      ignored: [],
    });
    expect(await client.estimate({ ...REQUEST, images })).toMatchObject({ max_images: 1, charge: "0.03" });
    await expect(client.estimate({ ...REQUEST, size: "1x1" })).rejects.toMatchObject({ param: "size" });
    expect(sentUpstream(providers())).toEqual([]);
    expect(records).toEqual([]);
  });

  it("gets no charge from a gateway that does not show prices", async () => {
    const { client } = await open();
    expect(await client.estimate(REQUEST)).toMatchObject({ charge: null });
  });
});

describe("errors", () => {
  it("have what the gateway says, and are not repeated if it says so", async () => {
    const { connect } = await open();
    const error = await connect({ apiKey: "wrong" })
      .generate(REQUEST)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CalotypeError);
    expect(error).toMatchObject({
      code: "invalid_api_key",
      type: "authentication_error",
      status: 401,
      param: null,
    });
  });

  it("name the client's baseUrl if the server is not a gateway", async () => {
    const { url, close } = await listen((_, response) => response.end("<html>"));
    onTestFinished(close);
    const client = createClient({ baseUrl: url });
    await expect(client.models()).rejects.toMatchObject({
      code: "invalid_response",
      type: "client_error",
      message: expect.stringContaining("baseUrl"),
    });
  });

  it("keep the status of a proxy that sends no JSON", async () => {
    const { url, close } = await listen((_, response) => response.writeHead(418).end("<html>"));
    onTestFinished(close);
    await expect(createClient({ baseUrl: url }).models()).rejects.toMatchObject({
      code: "invalid_response",
      status: 418,
      shouldRetry: false,
    });
  });

  it.each([
    ["a path without a page", { baseUrl: "/ai" }, /URL/],
    ["a wrong header", { baseUrl: "http://127.0.0.1:1", headers: { "x-a": "a\nb" } }, /header/i],
  ])("are TypeErrors at once for %s", async (_what, options, message) => {
    const client = createClient(options);
    await expect(client.generate(REQUEST)).rejects.toThrow(message);
    await expect(client.stream(REQUEST).next()).rejects.toBeInstanceOf(TypeError);
  });
});
