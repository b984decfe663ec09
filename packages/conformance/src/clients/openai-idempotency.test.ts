import type { GatewayOptions } from "@calotype/core";
import OpenAI, { InternalServerError, toFile, UnprocessableEntityError } from "openai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { drawPng } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders();
const PROMPT = { model: SEEDREAM, prompt: "a red fox" };
const keyed = (key: string) => ({ headers: { "Idempotency-Key": key } });

/** The official client, and the status and body of each response that it got. */
async function connect(options: Partial<GatewayOptions> = {}, maxRetries = 0) {
  const { url, records, gateway } = await serve(providers(), options);
  const responses: (readonly [status: number, text: string])[] = [];
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: CALLER_KEY,
    maxRetries,
    async fetch(input, init) {
      const response = await fetch(input, init);
      // Before its first form, the client tests the given `fetch` with a data URL.
      if (response.url.startsWith(url)) responses.push([response.status, await response.clone().text()]);
      return response;
    },
  });
  return { client, responses, records, gateway };
}

describe("the openai client with an Idempotency-Key", () => {
  it("gets the same response byte for byte, and is charged once", async () => {
    const { client, responses, records, gateway } = await connect();

    const first = await client.images.generate(PROMPT, keyed("one"));
    const { data: second, response } = await client.images.generate(PROMPT, keyed("one")).withResponse();

    expect(second).toEqual(first);
    expect(responses[1]).toEqual(responses[0]);
    expect(response.headers.get("idempotent-replayed")).toBe("true");
    expect(sentUpstream(providers())).toHaveLength(1);
    expect(records).toHaveLength(1);
    expect(await gateway.usage.balance("tester")).toEqual({ settled: "0.03", held: "0" });
  });

  it("can use its own option if it knows the header", async () => {
    const { client } = await connect();
    Object.assign(client, { idempotencyHeader: "Idempotency-Key" });

    await client.images.generate(PROMPT, { idempotencyKey: "one" });
    await client.images.generate(PROMPT, { idempotencyKey: "one" });

    expect(sentUpstream(providers())).toHaveLength(1);
  });

  it("gets an error for another request with the same key, and does not repeat that request", async () => {
    const { client, responses } = await connect({}, 2);
    await client.images.generate(PROMPT, keyed("one"));

    const error = await failureOf(client.images.generate({ ...PROMPT, prompt: "a cat" }, keyed("one")));

    expect(error).toBeInstanceOf(UnprocessableEntityError);
    expect(error).toMatchObject({ code: "idempotency_conflict", type: "invalid_request_error" });
    expect(responses.map(([status]) => status)).toEqual([200, 422]);
  });

  it("is charged once for a form that it uploads twice, although each upload has another boundary", async () => {
    const { client, responses, records } = await connect();
    const edit = async () =>
      client.images.edit({ ...PROMPT, image: await toFile(await drawPng(3), "fox.png") }, keyed("edit"));

    const results = [await edit(), await edit()];

    expect(results[1]).toEqual(results[0]);
    expect(responses[1]).toEqual(responses[0]);
    expect(sentUpstream(providers())).toHaveLength(1);
    expect(records).toHaveLength(1);
  });

  it("gets an error with the reason if the first response was a stream", async () => {
    const { client } = await connect();
    const stream = () => client.images.generate({ ...PROMPT, stream: true }, keyed("stream"));
    for await (const event of await stream()) expect(event).toBeDefined();

    await expect
      .poll(() => failureOf(stream()))
      .toMatchObject({ status: 409, code: "idempotency_not_replayable" });
    expect(sentUpstream(providers())).toHaveLength(1);
  });

  it("causes no second request to the provider with its automatic repeats after the provider failed", async () => {
    const { client, responses } = await connect({}, 2);
    providers().emulator.faults.add({ code: "InternalServiceError", times: 1 });

    const failures = [
      await failureOf(client.images.generate(PROMPT, keyed("one"))),
      await failureOf(client.images.generate(PROMPT, keyed("one"))),
    ];

    for (const failure of failures) expect(failure).toBeInstanceOf(InternalServerError);
    expect(responses.map(([status]) => status)).toEqual([502, 502]);
    expect(responses[1]).toEqual(responses[0]);
    expect(sentUpstream(providers())).toHaveLength(1);
  });

  it("runs again if the provider was overloaded and made nothing", async () => {
    const { client, records } = await connect();
    providers().emulator.faults.add({ code: "ModelAccountRpmRateLimitExceeded", times: 1 });

    await failureOf(client.images.generate(PROMPT, keyed("one")));
    const { data } = await client.images.generate(PROMPT, keyed("one"));

    expect(data).toHaveLength(1);
    expect(sentUpstream(providers())).toHaveLength(2);
    expect(records.filter(({ charge }) => charge === "0.03")).toHaveLength(1);
  });
});
