import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createMemoryAdmissionStore, type GatewayOptions } from "@calotype/core";
import { generateImage } from "ai";
import OpenAI, { type ClientOptions, PermissionDeniedError, RateLimitError } from "openai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { BASE64_CALLER_KEY, CALLER_KEY, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders();

interface Attempt {
  readonly status: number;
  readonly headers: Headers;
}

/** The official client, the responses that it got, and a clock for the limits that the test can advance. */
async function connect(options: Partial<GatewayOptions>, clientOptions: ClientOptions = {}) {
  const clock = { ahead: 0 };
  const admission = createMemoryAdmissionStore({ now: () => Date.now() + clock.ahead });
  const { url, records, gateway } = await serve(providers(), { admission, ...options });
  const attempts: Attempt[] = [];
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: CALLER_KEY,
    maxRetries: 0,
    async fetch(input, init) {
      const response = await fetch(input, init);
      attempts.push(response);
      return response;
    },
    ...clientOptions,
  });
  const generate = () => client.images.generate({ model: SEEDREAM, prompt: "a red fox" });
  return { url, client, generate, attempts, clock, records, gateway };
}

const statusesOf = (attempts: readonly Attempt[]): readonly number[] => attempts.map(({ status }) => status);

describe("the openai client at a limit", () => {
  it("throws a RateLimitError with the gateway's message and headers", async () => {
    const { generate } = await connect({ limits: { requestsPerMinute: 1 } });
    await generate();

    const error = await failureOf(generate());

    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({
      status: 429,
      type: "rate_limit_error",
      code: "rate_limit_exceeded",
      param: null,
      requestID: expect.stringMatching(/^req_/),
      message: expect.stringContaining("1 requests per minute"),
    });
    expect(sentUpstream(providers())).toHaveLength(1);
  });

  it("repeats automatically after the time that the gateway names, and succeeds when the minute is over", async () => {
    const { generate, attempts, clock, records } = await connect(
      { limits: { requestsPerMinute: 1 } },
      { maxRetries: 2 },
    );
    await generate();
    clock.ahead += 59_800;

    const { data } = await generate();

    expect(data).toHaveLength(1);
    expect(statusesOf(attempts)).toEqual([200, 429, 200]);
    expect(attempts[1]?.headers.get("retry-after")).toBe("1");
    expect(records).toHaveLength(2);
  });

  it("does not repeat a request that can never fit into the limit", async () => {
    const { client, attempts } = await connect({ limits: { imagesPerMinute: 2 } }, { maxRetries: 2 });

    const error = await failureOf(client.images.generate({ model: SEEDREAM, prompt: "foxes", n: 3 }));

    expect(error).toBeInstanceOf(RateLimitError);
    expect(statusesOf(attempts)).toEqual([429]);
  });

  it("gets the remaining limits in the headers of each successful response", async () => {
    const { client } = await connect({ limits: { requestsPerMinute: 5, imagesPerMinute: 9 } });

    const { response } = await client.images
      .generate({ model: SEEDREAM, prompt: "foxes", n: 2 })
      .withResponse();

    expect(Object.fromEntries(response.headers)).toMatchObject({
      ratelimit: '"requests";r=4;t=60, "images";r=7;t=60',
      "ratelimit-policy": '"requests";q=5;w=60, "images";q=9;qu="images";w=60',
      "x-ratelimit-limit-requests": "5",
      "x-ratelimit-remaining-requests": "4",
      "x-ratelimit-remaining-images": "7",
    });
  });

  it("does not repeat if the budget is used up", async () => {
    const { generate, attempts, gateway } = await connect(
      { callers: [{ id: "tester", key: CALLER_KEY, budget: "0.05" }] },
      { maxRetries: 2 },
    );
    await generate();

    const error = await failureOf(generate());

    expect(error).toBeInstanceOf(PermissionDeniedError);
    expect(error).toMatchObject({ status: 403, type: "insufficient_quota", code: "insufficient_quota" });
    expect(statusesOf(attempts)).toEqual([200, 403]);
    expect(await gateway.usage.balance("tester")).toEqual({ settled: "0.03", held: "0" });
  });
});

const openStream = (client: OpenAI) =>
  client.images.generate({ model: SEEDREAM, prompt: "a fox", stream: true });

describe("streams of the openai client", () => {
  it("use a slot until they end", async () => {
    const { client, generate } = await connect({ limits: { concurrent: 1 } });
    providers().emulator.faults.add({ body: { chunkBytes: 64, pauseMs: 20 }, times: 1 });
    const stream = await openStream(client);

    expect(await failureOf(generate())).toBeInstanceOf(RateLimitError);

    for await (const event of stream) expect(event).toBeDefined();
    // The client stops at [DONE], shortly before the provider's stream ends.
    await expect.poll(() => generate().then(({ data }) => data?.length, String)).toBe(1);
  });

  it("free their slot and are charged when the client has disconnected and the rest was read", async () => {
    const { client, generate, records } = await connect({ limits: { concurrent: 1 } });
    providers().emulator.faults.add({ body: { chunkBytes: 64, pauseMs: 20 }, times: 1 });
    const stream = await openStream(client);
    stream.controller.abort();

    expect(await failureOf(generate())).toBeInstanceOf(RateLimitError);

    await expect.poll(() => records).toHaveLength(1);
    expect(records).toMatchObject([{ images: 1, charge: "0.03" }]);
    expect((await generate()).data).toHaveLength(1);
  });
});

describe("generateImage of the AI SDK", () => {
  it("waits for a slot as the gateway says, and gets its image", async () => {
    const statuses: number[] = [];
    const { url } = await connect({ limits: { concurrent: 1 } });
    providers().emulator.faults.add({ latencyMs: 300, times: 1 });
    const provider = createOpenAICompatible({
      name: "calotype",
      baseURL: `${url}/v1`,
      apiKey: BASE64_CALLER_KEY,
      async fetch(input, init) {
        const response = await fetch(input, init);
        statuses.push(response.status);
        return response;
      },
    });
    const model = provider.imageModel(SEEDREAM);

    const results = await Promise.all([1, 2].map(() => generateImage({ model, prompt: "a red fox" })));

    expect(results.map(({ images }) => images.length)).toEqual([1, 1]);
    // On a slow machine the slot may still be taken when the client tries again.
    expect(statuses.filter((status) => status !== 429)).toEqual([200, 200]);
    expect(statuses[0]).toBe(429);
  });
});
