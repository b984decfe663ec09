import { describe, expect, it } from "vitest";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createTestGateway,
  type Provider,
  refusedConnection,
} from "../testing/test-gateway.js";

const BODY = { model: "doodle", prompt: "a secret fox in a library" };
const NOW = Date.parse("2026-11-21T09:02:00Z");

/** Sends one request to a provider, and returns the status of its channel. */
async function sendTo(provider: Provider, body: object = BODY) {
  const { gateway, post } = createTestGateway(provider, {}, { now: () => NOW });
  const response = await post(body);
  const [status] = gateway.status().channels;
  if (status === undefined) throw new Error("The gateway has channels.");
  return { status, response, newest: status.lastHour.at(-1) };
}

const refuse = (status: number, code: string, message: string): Response =>
  Response.json({ error: { code, message } }, { status });

describe("the errors of a channel", () => {
  it("have the provider's code and message, the model and the request, without the key and the prompt", async () => {
    const message = `Key ${ARK_KEY} may not draw a secret fox in a library.`;
    const { status, response, newest } = await sendTo(() => refuse(401, "AuthenticationError", message));
    expect(status.errors).toEqual([
      {
        time: "2026-11-21T09:02:00.000Z",
        kind: "credential",
        status: 401,
        code: "AuthenticationError",
        message: "Key *** may not draw [prompt]",
        upstreamModel: "doodle",
        requestId: response.headers.get("x-request-id"),
      },
    ]);
    expect(newest).toEqual({ from: "2026-11-21T09:00:00.000Z", attempts: 1, failures: 1 });
  });

  it("have the message of the connection if the provider could not be reached", async () => {
    const { status } = await sendTo(() => {
      throw refusedConnection();
    });
    expect(status.errors).toMatchObject([{ kind: "unreachable", message: "refused" }]);
    expect(status.errors[0]).not.toHaveProperty("status");
  });

  it("do not quote the prompt, also if the operator's own fetch does", async () => {
    const { status } = await sendTo(({ body }) => {
      throw new Error("failed", { cause: new Error(`cannot send ${JSON.stringify(body)}`) });
    });
    expect(status.errors).toHaveLength(1);
    expect(status.errors[0]?.message).toMatch(/^cannot send .*\[prompt\]$/);
  });

  it("are none if the provider refused the request because of its content", async () => {
    const { status, newest } = await sendTo(() => refuse(400, "SensitiveContent", "No foxes."));
    expect(status.errors).toEqual([]);
    expect(newest).toMatchObject({ attempts: 1, failures: 0 });
  });

  it("are none after a success", async () => {
    const { status, newest } = await sendTo(() => Response.json(ARK_RESPONSE));
    expect(status.errors).toEqual([]);
    expect(newest).toMatchObject({ attempts: 1, failures: 0 });
  });

  it.each([
    ["broke off", {}, () => new Response('{"data": [', { headers: { "content-type": "application/json" } })],
    [
      "was an error event",
      { stream: true },
      () => {
        const error = { code: "InternalServiceError", message: "No a secret fox in a library." };
        const events = `event: error\ndata: ${JSON.stringify({ error })}\n\n`;
        return new Response(events, { headers: { "content-type": "text/event-stream" } });
      },
    ],
  ])(
    "contain a response with status 200 that %s, as one attempt without the prompt",
    async (_what, fields, respond) => {
      const { status, newest } = await sendTo(respond, { ...BODY, ...fields });
      expect(status.errors).toHaveLength(1);
      expect(JSON.stringify(status)).not.toContain("secret");
      expect(newest).toMatchObject({ attempts: 1, failures: 1 });
    },
  );
});
