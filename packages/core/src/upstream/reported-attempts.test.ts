import { describe, expect, it } from "vitest";
import type { FailureEvent } from "../events.js";
import {
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
  refusedConnection,
  type TestGateway,
} from "../testing/test-gateway.js";

const BODY = { model: "m", prompt: "x" };
const ENDPOINT = "ep-20260101-abcde";

const fail = (status: number, code: string, message = `It is ${code}.`): Response =>
  Response.json({ error: { code, message } }, { status });

interface Told extends TestGateway {
  readonly errors: readonly FailureEvent[];
}

/** Channels `a`, `b` and `c`, tried in this order. Each behaves as the function says. */
function open(behave: (channel: string) => Response | Promise<Response>): Told {
  const errors: FailureEvent[] = [];
  const provider: Provider = ({ headers }) => behave(headers.get("authorization")?.slice(-1) ?? "");
  const opened = createTestGateway(provider, {
    models: { m: { family: "seedream" } },
    channels: ["a", "b", "c"].map((id, index) => ({
      id,
      family: "seedream",
      apiKey: id === "b" ? ["key-of-b1-b", "key-of-b2-b"] : `key-of-${id}`,
      modelMapping: { m: ENDPOINT },
      priority: -index,
    })),
    billing: { model_details: { m: { pricing_mode: "per-request", model_price: "0.25" } } },
    onError: (event) => errors.push(event),
  });
  return { ...opened, errors };
}

describe("a usage record", () => {
  it("lists each attempt with channel, key, status, code and duration", async () => {
    const { post, records } = open((channel) => {
      if (channel === "a") throw refusedConnection();
      return channel === "b" ? fail(401, "AuthenticationError") : Response.json(ARK_RESPONSE);
    });

    expect((await post(BODY)).status).toBe(200);

    const durationMs = expect.any(Number);
    expect(records).toMatchObject([
      {
        channel: "c",
        status: 200,
        attempts: [
          { channel: "a", key: 0, code: "upstream_unreachable", durationMs },
          { channel: "b", key: 0, status: 401, code: "AuthenticationError", durationMs },
          { channel: "b", key: 1, status: 401, code: "AuthenticationError", durationMs },
          { channel: "c", key: 0, status: 200, durationMs },
        ],
      },
    ]);
    const attempts = records[0]?.attempts ?? [];
    expect(attempts[3]).not.toHaveProperty("code");
    expect(attempts.map(({ cooldownUntil = 0, beganAt = Infinity }) => cooldownUntil > beganAt)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it("names the channel whose failure the client got", async () => {
    const { post, records, errors } = open((channel) => {
      if (channel === "a") throw refusedConnection();
      return fail(401, "AuthenticationError");
    });

    expect(await post(BODY)).toMatchObject({
      status: 502,
      body: { error: { code: "upstream_unreachable" } },
    });

    expect(records[0]).toMatchObject({ status: 502, errorCode: "upstream_unreachable" });
    const attempts = records[0]?.attempts ?? [];
    const shown = attempts.find(({ channel }) => channel === records[0]?.channel);
    expect(shown?.code).toBe("upstream_unreachable");
    expect(errors).toMatchObject([{ attempts }]);
  });

  it("is not made if no provider was reached, and onError gets the attempts", async () => {
    const { post, records, errors } = open(() => {
      throw refusedConnection();
    });

    expect((await post(BODY)).status).toBe(502);

    expect(records).toEqual([]);
    expect(errors[0]?.attempts).toHaveLength(3);
  });

  it("has the code of a failure after the head of a response, and the log has a line", async () => {
    const { post, records, errors, logs } = open(
      () => new Response('{"data":[', { headers: { "content-type": "application/json" } }),
    );

    expect((await post(BODY)).status).toBe(502);

    const attempts = [{ channel: "a", key: 0, status: 200, code: "upstream_invalid_response" }];
    expect(records).toMatchObject([{ channel: "a", errorCode: "upstream_invalid_response", attempts }]);
    expect(errors).toMatchObject([{ attempts }]);
    expect(logs).toMatchObject([
      {
        level: "warn",
        message: "A channel failed.",
        fields: { channel: "a", status: 200, reason: "broken" },
      },
    ]);
  });

  it("has no attempts in onError for a request that was refused before", async () => {
    const { post, errors } = open(() => Response.json(ARK_RESPONSE));

    await post({ model: "m" });

    expect(errors).toHaveLength(1);
    expect(errors[0]).not.toHaveProperty("attempts");
  });
});

describe("a client that disconnects", () => {
  it.each([
    ["JSON", {}],
    ["a stream", { stream: true }],
  ])("during an attempt that fails is not sent again, as %s", async (_what, more) => {
    const client = new AbortController();
    const { gateway, calls, records } = open((channel) => {
      client.abort();
      return channel === "a" ? fail(503, "ServiceUnavailable") : Response.json(ARK_RESPONSE);
    });

    await gateway.fetch(new Request(createPost({ ...BODY, ...more }), { signal: client.signal }));

    expect(calls).toHaveLength(1);
    expect(records).toMatchObject([{ channel: "a", charge: "0", attempts: [{ channel: "a", status: 503 }] }]);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
  });

  it("during an attempt that succeeds is charged for it", async () => {
    const client = new AbortController();
    const { gateway, calls, records } = open(() => {
      client.abort();
      return Response.json(ARK_RESPONSE);
    });

    await gateway.fetch(new Request(createPost(BODY), { signal: client.signal }));

    expect(calls).toHaveLength(1);
    expect(records).toMatchObject([{ channel: "a", charge: "0.25" }]);
  });
});

const text = (status: number, body: string, type = "text/plain"): Response =>
  new Response(body, { status, headers: { "content-type": type } });

describe("the provider's error message", () => {
  it.each([
    ["a text", 400, "size is wrong: use 2K", 400, "size is wrong: use 2K"],
    ["a text that says why it is not served", 503, "maintenance until 5 pm", 502, "maintenance until 5 pm"],
    ["JSON of another shape", 400, '{"detail":"no such zone"}', 400, "no such zone"],
    ["the title of a page", 502, "<html><title>502 Bad Gateway</title></html>", 502, "502 Bad Gateway"],
  ])("reaches the client from %s", async (_what, status, body, shownStatus, message) => {
    const { post, errors } = open(() => text(status, body));

    expect(await post(BODY)).toMatchObject({ status: shownStatus, body: { error: { message } } });
    expect(errors[0]?.error.message).toBe(message);
  });

  it("is redacted, and then shortened", async () => {
    const { post } = open(() => text(400, `${"x".repeat(995)}key-of-a${"y".repeat(9_000)}`));

    const { message } = (await post(BODY)).body["error"] as { message: string };
    expect(message).toBe(`${"x".repeat(995)}***yy`);
  });

  it("names the service model on /v1, and not the operator's endpoint", async () => {
    const said = `The model or endpoint ${ENDPOINT} does not exist. See ${ENDPOINT}-2.`;
    const { post, postNative } = open(() => fail(404, "InvalidEndpointOrModel.NotFound", said));

    const shown = await post(BODY);
    expect(shown.body["error"]).toMatchObject({
      message: `The model or endpoint m does not exist. See ${ENDPOINT}-2.`,
    });
    expect((await postNative(BODY)).text).toContain(`endpoint ${ENDPOINT} does`);
  });

  it("is in the log, so that the operator knows why a channel fails", async () => {
    const { post, logs } = open((channel) =>
      channel === "a" ? text(503, `maintenance, ${CALLER_KEY}`) : Response.json(ARK_RESPONSE),
    );

    await post(BODY);

    expect(logs).toMatchObject([
      { fields: { channel: "a", upstreamMessage: expect.stringContaining("maintenance") } },
    ]);
  });

  it.each([
    ["before the response", (error: object) => Response.json({ error }, { status: 500 })],
    [
      "in a stream",
      (error: object) => text(200, `data: ${JSON.stringify({ error })}\n\n`, "text/event-stream"),
    ],
  ])("is in the log without the prompt that it quotes, if it comes %s", async (_when, respond) => {
    const prompt = "my secret recipe for a cake";
    const { post, logs } = open(() =>
      respond({ code: "InternalServiceError", message: `Cannot draw: ${prompt}` }),
    );

    await post({ ...BODY, prompt, stream: true });

    expect(logs).toMatchObject([{ fields: { channel: "a", upstreamMessage: "Cannot draw: [prompt]" } }]);
  });
});
