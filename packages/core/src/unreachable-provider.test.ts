import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  ARK_KEY,
  createPost,
  createTestGateway,
  GENERATIONS,
  NATIVE,
  readResponse,
} from "./testing/test-gateway.js";

const HOST = "ark-3.internal.test";
const ADDRESS = "10.20.30.40";
const PLACE = new RegExp(`${HOST}|${ADDRESS}|:8443`);
const REQUEST = { model: "doodle", prompt: "a kite" };

/** The error of `fetch`, whose cause contains the provider's host. */
function connectionError(code: string): TypeError {
  const cause = new Error(`connect ${code} ${HOST} (${ADDRESS}:8443)`);
  return new TypeError(`fetch to https://${HOST}:8443 failed`, {
    cause: Object.assign(cause, { code, hostname: HOST, address: ADDRESS, port: 8443 }),
  });
}

const UNREACHABLE = { code: "upstream_unreachable", message: "The provider cannot be reached." };
const BROKEN = { code: "upstream_invalid_response", message: "The provider's response broke off." };

function openGateway(respond: () => Response) {
  const told: unknown[] = [];
  const test = createTestGateway(() => respond(), {
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: ARK_KEY, baseUrl: `https://${HOST}:8443/api/v3` }],
    onError: (event) => void told.push(event),
  });
  return { ...test, told };
}

describe.each([
  ["/v1", GENERATIONS],
  ["/api/v3", NATIVE],
])("%s does not show the provider's address to a client", (_path, url) => {
  it.each([
    ["ECONNREFUSED", UNREACHABLE],
    ["ENOTFOUND", UNREACHABLE],
    ["EHOSTUNREACH", UNREACHABLE],
    ["UND_ERR_CONNECT_TIMEOUT", UNREACHABLE],
    ["ERR_TLS_CERT_ALTNAME_INVALID", UNREACHABLE],
    ["ECONNRESET", BROKEN],
  ])("if its connection fails with %s, and logs it for the operator", async (code, error) => {
    const { gateway, records, told, logs } = openGateway(() => {
      throw connectionError(code);
    });

    const response = await readResponse(await gateway.fetch(new Request(url, createPost(REQUEST))));
    await gateway.close();

    expect(response.status).toBe(502);
    expect(response.body).toEqual({ error: { ...error, type: "upstream_error", param: null } });
    expect(inspect([...response.headers])).not.toMatch(PLACE);
    expect(inspect(records, { depth: 9 })).not.toMatch(PLACE);
    expect(inspect(told, { depth: 9 })).toMatch(PLACE);
    expect(inspect(logs, { depth: 9 })).toMatch(PLACE);
  });

  it("when a stream breaks off", async () => {
    const { gateway } = openGateway(
      () =>
        new Response(ReadableStream.from(breakOff()), { headers: { "content-type": "text/event-stream" } }),
    );

    const { text } = await readResponse(
      await gateway.fetch(new Request(url, createPost({ ...REQUEST, stream: true }))),
    );

    expect(text).toContain("event: error");
    expect(text).toContain(BROKEN.message);
    expect(text).not.toMatch(PLACE);
    await gateway.close();
  });
});

async function* breakOff(): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(": begun\n\n");
  throw connectionError("ECONNRESET");
}
