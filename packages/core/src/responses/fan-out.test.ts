import { describe, expect, it, vi } from "vitest";
import type { GatewayOptions } from "../options/options.js";
import {
  createPost,
  createTestGateway,
  type Provider,
  readResponse,
  refusedConnection,
} from "../testing/test-gateway.js";

const BODY = { model: "image-max", prompt: "a fox" };
const BILLING = { model_details: { "*": { pricing_mode: "per-request", model_price: "0.25" } } } as const;

/** A response with image number `number`. */
function image(number: number, usage: object = { image_count: 1 }): Response {
  const content = [{ image: `https://dashscope.test/${number}.png` }];
  return Response.json({
    output: { choices: [{ message: { role: "assistant", content } }] },
    usage,
    request_id: `id-${number}`,
  });
}

function refusal(status: number, code: string): Response {
  return Response.json({ code, message: `${code}.`, request_id: `id-${code}` }, { status });
}

/** A provider that responds to its calls by their number, from 0. */
function scripted(respond: (number: number) => Response | Promise<Response>): Provider {
  let calls = 0;
  return () => respond(calls++);
}

function open(provider: Provider, options: Partial<GatewayOptions> = {}) {
  return createTestGateway(provider, { billing: BILLING, ...options });
}

/** A provider whose calls wait until the test lets them respond. */
function waiting() {
  const calls: ((response: Response | Error) => void)[] = [];
  const provider: Provider = () =>
    new Promise((resolve, reject) => {
      calls.push((response) => (response instanceof Error ? reject(response) : resolve(response)));
    });
  const arrived = (count: number) => vi.waitFor(() => expect(calls).toHaveLength(count));
  return { calls, provider, arrived };
}

describe("a request for several images of a model that makes one per call", () => {
  it("gets the images of as many calls, with the fields of the first", async () => {
    const { post, calls, records } = open(scripted(image));
    const { status, body, headers } = await post({ ...BODY, n: 3, size: "1328x1328" });

    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(body).toEqual({
      created: expect.any(Number),
      data: [0, 1, 2].map((number) => ({ url: `https://dashscope.test/${number}.png`, revised_prompt: "" })),
      extra: { request_id: "id-0" },
    });
    expect(calls.map((call) => call.body["parameters"])).toEqual(
      [0, 1, 2].map(() => ({ size: "1328*1328" })),
    );
    expect(records).toMatchObject([
      {
        images: 3,
        charge: "0.75",
        status: 200,
        channel: "bailian",
        usage: { generated_images: 3 },
        upstreamRequestId: "id-0",
        upstreamRequestIds: ["id-0", "id-1", "id-2"],
        attempts: [0, 1, 2].map((call) => ({ call, channel: "bailian", key: 0, status: 200 })),
      },
    ]);
  });

  it("gets the images in the order of the calls, however they end", async () => {
    const { calls, provider, arrived } = waiting();
    const { post } = open(provider);
    const response = post({ ...BODY, n: 3 });
    await arrived(3);
    calls[2]?.(image(2));
    calls[0]?.(image(0));
    calls[1]?.(image(1));
    const { body } = await response;
    expect(body["data"]).toMatchObject([0, 1, 2].map((n) => ({ url: `https://dashscope.test/${n}.png` })));
  });

  it("makes at most four calls at once, and the next one when one has ended", async () => {
    const { calls, provider, arrived } = waiting();
    const { post } = open(provider);
    const response = post({ ...BODY, n: 6 });
    await arrived(4);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toHaveLength(4);
    calls[1]?.(image(1));
    await arrived(5);
    calls[0]?.(image(0));
    await arrived(6);
    for (const number of [2, 3, 4, 5]) calls[number]?.(image(number));
    expect((await response).body["data"]).toHaveLength(6);
  });

  it("sends each call its own seed", async () => {
    const { post, calls } = open(scripted(image));
    await post({ ...BODY, n: 3, seed: 2_147_483_646 });
    expect(calls.map((call) => call.body["parameters"])).toEqual([
      { seed: 2_147_483_646 },
      { seed: 2_147_483_647 },
      { seed: 0 },
    ]);
  });

  it("counts one image for a call without a count", async () => {
    const { post, records } = open(
      scripted((number) => image(number, number === 1 ? {} : { image_count: 1 })),
    );
    await post({ ...BODY, n: 3 });
    expect(records).toMatchObject([{ images: 3, charge: "0.75", usage: { generated_images: 3 } }]);
  });

  it("gets the images of the calls that succeed, and a list of those that failed", async () => {
    const { post, records } = open(
      scripted((number) => (number === 1 ? refusal(400, "DataInspectionFailed") : image(number))),
    );
    const { status, body } = await post({ ...BODY, n: 3 });
    expect(status).toBe(200);
    expect(body["data"]).toMatchObject([0, 2].map((n) => ({ url: `https://dashscope.test/${n}.png` })));
    expect(body["extra"]).toEqual({
      request_id: "id-0",
      errors: [{ index: 1, code: "DataInspectionFailed", message: "DataInspectionFailed." }],
    });
    expect(records).toMatchObject([
      {
        images: 2,
        charge: "0.5",
        upstreamRequestIds: ["id-0", "id-DataInspectionFailed", "id-2"],
        attempts: [{ call: 0 }, { call: 1, code: "DataInspectionFailed" }, { call: 2 }],
      },
    ]);
    expect(records[0]).not.toHaveProperty("errorCode");
  });

  it("gets the error of the first call if none makes an image", async () => {
    const errors: unknown[] = [];
    const { post, records } = open(
      scripted((number) =>
        number === 0 ? refusal(400, "InvalidParameter") : refusal(400, "DataInspectionFailed"),
      ),
      { onError: (event) => errors.push(event) },
    );
    const { status, body, headers } = await post({ ...BODY, n: 2 });
    expect(status).toBe(400);
    expect(body).toMatchObject({
      error: { code: "InvalidParameter", upstream_request_id: "id-InvalidParameter" },
    });
    expect(headers.get("x-should-retry")).toBeNull();
    expect(records).toMatchObject([{ status: 400, errorCode: "InvalidParameter", images: 0, charge: "0" }]);
    expect(errors).toMatchObject([{ error: { status: 400 }, attempts: [{ call: 0 }, { call: 1 }] }]);
  });

  it("is not to be repeated if a call that is not shown may have made an image", async () => {
    const { post, records } = open(
      scripted((number) => (number === 0 ? refusal(429, "Throttling") : refusal(500, "InternalError"))),
    );
    const { status, headers } = await post({ ...BODY, n: 2 });
    expect(status).toBe(429);
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("retry-after")).not.toBeNull();
    expect(records).toMatchObject([{ status: 429, errorCode: "Throttling" }]);
  });

  it("leaves no record and no hold if no call reaches a provider", async () => {
    const { post, records, gateway } = open(() => {
      throw refusedConnection();
    });
    expect((await post({ ...BODY, n: 3 })).status).toBe(502);
    expect(records).toEqual([]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("charges a call that reports an image and has none, and lists it as failed", async () => {
    const { post, records } = open(
      scripted((number) =>
        number === 0
          ? image(0)
          : Response.json({ output: { choices: [] }, usage: { image_count: 1 }, request_id: "b" }),
      ),
    );
    const { body } = await post({ ...BODY, n: 2 });
    expect(body["extra"]).toMatchObject({ errors: [{ index: 1, code: "upstream_no_image" }] });
    expect(records).toMatchObject([{ images: 1, charge: "0.5", usage: { generated_images: 2 } }]);
  });

  it("delivers an image although another call breaks off, is no JSON or is compressed", async () => {
    const broken = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"output":'));
        controller.error(new Error("reset"));
      },
    });
    const { post, records } = open(
      scripted((number) => {
        const others = [
          new Response(broken, { headers: { "content-type": "application/json" } }),
          new Response("<html>", { headers: { "content-type": "text/html" } }),
          new Response("\u001f\u008b", { headers: { "content-encoding": "gzip" } }),
        ];
        return others[number] ?? image(number);
      }),
    );
    const { status, body } = await post({ ...BODY, n: 4 });
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(1);
    expect(body["extra"]).toMatchObject({
      errors: [0, 1, 2].map((index) => ({ index, code: "upstream_invalid_response" })),
    });
    expect(records).toMatchObject([{ images: 1, charge: "0.25", attempts: [{}, {}, {}, { status: 200 }] }]);
    expect(records[0]?.attempts?.map(({ code }) => code)).toEqual([
      ...Array(3).fill("upstream_invalid_response"),
      undefined,
    ]);
  });
});

describe("each of several calls", () => {
  it("fails over by itself", async () => {
    const keys = ["sk-first-key-000000", "sk-second-key-00000"];
    const { post, records } = open(
      ({ headers }) =>
        headers.get("authorization") === `Bearer ${keys[0]}` ? refusal(401, "InvalidApiKey") : image(0),
      {
        models: { "image-max": { family: "qwen-image" } },
        channels: keys.map((apiKey, index) => ({
          id: `channel ${index + 1}`,
          family: "qwen-image",
          apiKey,
          priority: 2 - index,
        })),
      },
    );
    const { status, body } = await post({ ...BODY, n: 2 });
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(2);
    expect(records).toMatchObject([
      {
        channel: "channel 2",
        images: 2,
        attempts: [
          { call: 0, channel: "channel 1", status: 401 },
          { call: 0, channel: "channel 2", status: 200 },
          { call: 1, channel: "channel 1", status: 401 },
          { call: 1, channel: "channel 2", status: 200 },
        ],
      },
    ]);
  });

  it("sends the files of an edit again", async () => {
    const png = new Uint8Array(100_000).fill(7);
    png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const { gateway, calls } = open(
      scripted((number) => Response.json({ data: [{ url: `https://ark.test/${number}.png` }] })),
      {
        models: { single: { family: "seedream", capabilities: { imagesPerCall: 1 } } },
        uploadMemoryBytes: 0,
      },
    );
    const form = new FormData();
    form.set("model", "single");
    form.set("prompt", "a fox");
    form.set("n", "3");
    form.set("seed", "5");
    form.set("image", new Blob([png]), "fox.png");
    const { authorization } = Object.fromEntries(createPost({}).headers);
    const response = await gateway.fetch(
      new Request("http://gateway.test/v1/images/edits", {
        method: "POST",
        headers: { authorization: authorization ?? "" },
        body: form,
      }),
    );
    const { status, body } = await readResponse(response);
    expect(status).toBe(200);
    expect(body["data"]).toHaveLength(3);
    const url = `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
    expect(calls.map((call) => call.body["image"])).toEqual([[url], [url], [url]]);
    expect(calls.map((call) => call.body["seed"])).toEqual([5, 6, 7]);
    expect(calls.some((call) => "n" in call.body || "sequential_image_generation" in call.body)).toBe(false);
  });
});
