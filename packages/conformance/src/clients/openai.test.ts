import OpenAI, { APIError, BadRequestError, type ClientOptions, toFile } from "openai";
import { describe, expect, it, vi } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { decode, drawPng, toDataUrl } from "./support/images.js";
import { recordForms } from "./support/record-forms.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, QWEN_IMAGE, QWEN_IMAGE_2, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders();

async function connect(options: ClientOptions = {}, of = providers()) {
  const { url, records } = await serve(of);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0, ...options });
  return { client, records };
}

describe("images.edit of the openai client", () => {
  it("names a single file image, and the image arrives", async () => {
    const { fetch, forms } = recordForms();
    const { client, records } = await connect({ fetch });
    const png = await drawPng(1);

    const { data } = await client.images.edit({
      model: SEEDREAM,
      prompt: "at night",
      image: await toFile(png, "blob"),
    });

    expect(data).toMatchObject([{ url: expect.stringMatching(/^http/) }]);
    expect(forms[0]).toContainEqual({ name: "image", filename: "blob" });
    expect(sentUpstream(providers())).toMatchObject([{ prompt: "at night", image: [toDataUrl(png)] }]);
    expect(records).toMatchObject([{ operation: "edit", images: 1, charge: "0.03" }]);
  });

  it("names several files image[], and their images arrive in order, with n and base64", async () => {
    const { fetch, forms } = recordForms();
    const { client, records } = await connect({ fetch });
    const pngs = await Promise.all([1, 2, 3].map(drawPng));

    const { data = [] } = await client.images.edit({
      model: SEEDREAM,
      prompt: "2 images: the first as the subject, the others as the style",
      image: await Promise.all(pngs.map((png) => toFile(png, "blob"))),
      n: 2,
      size: "1024x1024",
      response_format: "b64_json",
      user: "user-1",
    });

    expect(forms[0]?.filter(({ filename }) => filename)).toEqual(
      pngs.map(() => ({ name: "image[]", filename: "blob" })),
    );
    expect(sentUpstream(providers())).toMatchObject([
      {
        image: pngs.map(toDataUrl),
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 2 },
      },
    ]);
    expect(data).toHaveLength(2);
    for (const { b64_json = "" } of data) {
      expect(await decode(Buffer.from(b64_json, "base64"))).toMatchObject({ format: "jpeg" });
    }
    expect(records).toMatchObject([{ operation: "edit", images: 2, charge: "0.06" }]);
  });

  it("gets several images of a model that makes one per call, which gets the files with each call", async () => {
    const { client, records } = await connect();
    const pngs = await Promise.all([1, 2].map(drawPng));

    const { data = [], ...body } = await client.images.edit({
      model: "seedream-5-5-261028",
      prompt: "at night",
      image: await Promise.all(pngs.map((png) => toFile(png, "blob"))),
      n: 3,
      response_format: "b64_json",
    });

    expect(data).toMatchObject([0, 1, 2].map(() => ({ b64_json: expect.any(String) })));
    expect(body).toMatchObject({ usage: { generated_images: 3 } });
    const sent = sentUpstream(providers());
    expect(sent).toMatchObject([0, 1, 2].map(() => ({ image: pngs.map(toDataUrl) })));
    expect(sent).toEqual([0, 1, 2].map(() => expect.not.objectContaining({ n: expect.anything() })));
    expect(records).toMatchObject([{ operation: "edit", images: 3, charge: "0.09" }]);
  });

  it("is refused with a mask, with an error that names it, and nothing is charged", async () => {
    const { client, records } = await connect();
    const image = await toFile(await drawPng(), "image.png");
    const mask = await toFile(await drawPng(), "mask.png");

    const error = await failureOf(client.images.edit({ model: SEEDREAM, prompt: "a hat", image, mask }));

    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param: "mask", type: "invalid_request_error" });
    expect(records).toEqual([]);
  });
});

describe("a stream of the openai client", () => {
  it("ends at the provider's end, with or without [DONE]", async () => {
    const { client, records } = await connect();
    providers().emulator.faults.add({ omitDone: true, times: 1 });

    const without = await collect(await startBatch(client, 2));
    const withDone = await collect(await startBatch(client, 2));

    const types = ["partial_succeeded", "partial_succeeded", "completed"];
    for (const { events, error } of [without, withDone]) {
      expect(error).toBeUndefined();
      expect(events.map(({ type }) => type)).toEqual(types.map((type) => `image_generation.${type}`));
    }
    expect(records.map(({ charge }) => charge)).toEqual(["0.06", "0.06"]);
  });

  // The iterator treats any event with an error as the end. To get the images after it, read the stream with a parser
  // of server-sent events, or send the request without `stream`.
  it("throws at the failed image of a batch, although the later images are made and recorded", async () => {
    const { client, records } = await connect();
    providers().emulator.faults.add({ failImages: [{ index: 1 }] });

    const { events, error } = await collect(await startBatch(client, 3));

    expect(events).toMatchObject([{ type: "image_generation.partial_succeeded", image_index: 0 }]);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code: "OutputImageSensitiveContentDetected" });
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.06" }]));
  });

  it.each([
    { where: "by an error event", fault: { streamErrorAfterImages: 1 }, code: "InternalServiceError" },
    { where: "between two events", fault: { stream: { cutAfterEvents: 1 } }, code: expect.any(String) },
  ])("throws if it breaks off $where, after it has returned the earlier images", async ({ fault, code }) => {
    const { client, records } = await connect();
    providers().emulator.faults.add(fault);

    const { events, error } = await collect(await startBatch(client, 3));

    expect(events).toMatchObject([{ type: "image_generation.partial_succeeded", image_index: 0 }]);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ code });
    expect(records).toMatchObject([{ images: 1, charge: "0.03" }]);
  });

  it("throws if it is cut inside an event, and returns nothing of that event", async () => {
    const { client, records } = await connect();
    providers().emulator.faults.add({ stream: { cutAfterEvents: 1.5 } });

    const { events, error } = await collect(await startBatch(client, 3));

    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(Error);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1, charge: "0.03" }]));
  });
});

describe("a slow stream of the openai client", () => {
  const slowProviders = useProviders({ images: "tiny", millisecondsPerImage: 150 });

  it("can be left early, and every image is still recorded", async () => {
    const { client, records } = await connect({}, slowProviders());

    for await (const event of await startBatch(client, 4)) {
      expect(event).toMatchObject({ type: "image_generation.partial_succeeded", image_index: 0 });
      break;
    }

    expect(records).toEqual([]);
    await vi.waitFor(() =>
      expect(records).toMatchObject([{ operation: "generate", images: 4, charge: "0.12" }]),
    );
  });
});

describe("images.generate of the openai client with Qwen-Image", () => {
  it("returns base64, although the provider only returns links", async () => {
    const { client, records } = await connect();

    const { data = [] } = await client.images.generate({
      model: QWEN_IMAGE,
      prompt: "a red fox",
      size: "1664x928",
      response_format: "b64_json",
    });

    expect(data).toHaveLength(1);
    expect(await decode(Buffer.from(data[0]?.b64_json ?? "", "base64"))).toMatchObject({ format: "png" });
    expect(sentUpstream(providers())).toEqual([expect.not.objectContaining({ response_format: "b64_json" })]);
    expect(records).toMatchObject([{ operation: "generate", model: QWEN_IMAGE, images: 1, charge: "0.075" }]);
  });

  it("returns n images with one call", async () => {
    const { client, records } = await connect();

    const { data = [] } = await client.images.generate({ model: QWEN_IMAGE_2, prompt: "a red fox", n: 3 });

    expect(sentUpstream(providers())).toMatchObject([{ model: "qwen-image-2.0", parameters: { n: 3 } }]);
    expect(new Set(data.map(({ url }) => url)).size).toBe(3);
    expect(records).toMatchObject([{ images: 3, charge: "0.225" }]);
  });

  it("returns n images of a model that makes one per call", async () => {
    const { client, records } = await connect();
    /** A field that the client's types do not have. */
    const providerFields: object = { seed: 2_147_483_646 };

    const { data = [] } = await client.images.generate({
      model: QWEN_IMAGE,
      prompt: "a red fox",
      n: 4,
      size: "1328x1328",
      response_format: "b64_json",
      ...providerFields,
    });

    const pictures = data.map(({ b64_json }) => Buffer.from(b64_json ?? "", "base64"));
    expect(await Promise.all(pictures.map(decode))).toMatchObject(pictures.map(() => ({ format: "png" })));
    const sent = sentUpstream(providers());
    expect(sent).toHaveLength(4);
    // The calls have connections of their own, and arrive in any order.
    for (const seed of [2_147_483_646, 2_147_483_647, 0, 1]) {
      const parameters = { size: "1328*1328", seed };
      expect(sent).toContainEqual(expect.objectContaining({ model: "qwen-image-max", parameters }));
    }
    expect(records).toMatchObject([
      {
        model: QWEN_IMAGE,
        images: 4,
        charge: "0.3",
        attempts: [0, 1, 2, 3].map((call) => ({ call, status: 200 })),
        upstreamRequestIds: [0, 1, 2, 3].map(() => expect.any(String)),
      },
    ]);
  });

  it("gets an error with the maximum of images if n is larger", async () => {
    const { client, records } = await connect();

    const error = await failureOf(client.images.generate({ model: QWEN_IMAGE, prompt: "a red fox", n: 11 }));

    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: "n", message: expect.stringContaining("at most 10") });
    expect(records).toEqual([]);
  });
});

function startBatch(client: OpenAI, n: number) {
  return client.images.generate({ model: SEEDREAM, prompt: `${n} images of kites`, n, stream: true });
}

/** Reads a stream until it ends or throws. */
async function collect(stream: AsyncIterable<{ readonly type: string }>) {
  const events: { readonly type: string }[] = [];
  const error = await (async () => {
    for await (const event of stream) events.push(event);
  })().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { events, error };
}
