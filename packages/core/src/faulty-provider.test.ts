import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import { serve } from "./testing/start-server.js";
import {
  ARK_RESPONSE,
  createTestGateway,
  type ReadResponse,
  type TestGateway,
} from "./testing/test-gateway.js";
import { createTransport } from "./upstream/transport-node.js";

type Listener = Parameters<typeof serve>[0];

/** Starts a gateway with a provider on a socket. The test handles the provider's requests. */
async function startGateway(listener: Listener, options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const server = await serve((request, response) => {
    request.on("end", () => listener(request, response)).resume();
  });
  return createTestGateway(
    undefined,
    {
      models: { m: { family: "seedream" }, q: { family: "qwen-image" } },
      channels: ["seedream", "qwen-image"].map((family) => ({
        id: family,
        family,
        apiKey: "k",
        baseUrl: server.url,
        timeouts: { connectSeconds: 1, firstByteSeconds: 0.3, idleSeconds: 0.3 },
      })),
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
      ...options,
    },
    { transport: createTransport() },
  );
}

async function ask(gateway: TestGateway, model = "m"): Promise<ReadResponse> {
  const response = await gateway.post({ model, prompt: "x" });
  expect(gateway.records).toHaveLength(1);
  expect(gateway.records[0]).toMatchObject({
    status: response.status,
    id: response.headers.get("x-request-id"),
  });
  return response;
}

const invalid = {
  status: 502,
  body: { error: { type: "upstream_error", code: "upstream_invalid_response" } },
};

describe("a provider whose 200 has", () => {
  it.each<[string, string | Buffer]>([
    ["a list", "[]"],
    ["a text", '"ok"'],
    ["null", "null"],
    ["a number", "7"],
    ["nothing", ""],
    ["spaces", "   "],
    ["HTML", "<!doctype html><html></html>"],
    ["half an object", '{"data":[{"url":"https://x"}'],
    ["two objects", "{}{}"],
    ["garbage", Buffer.from([0xff, 0xfe, 0x00, 0x80])],
    ["gzip that was not requested", gzipSync(JSON.stringify(ARK_RESPONSE))],
  ])("%s is a 502, not repeated, with a record", async (_what, text) => {
    for (const model of ["m", "q"]) {
      const response = await ask(await startGateway((_request, res) => void res.end(text)), model);
      expect(response).toMatchObject(invalid);
      expect(response.headers.get("x-should-retry")).toBe("false");
    }
  });

  it("gzip garbage that it declares is a 502", async () => {
    const gateway = await startGateway((_request, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end("not gzip");
    });
    expect(await ask(gateway)).toMatchObject(invalid);
  });

  it("nested lists without end is a 502", async () => {
    const depth = 200_000;
    const text = `{"data":[{"url":"https://x"}],"x":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    const gateway = await startGateway((_request, res) => void res.end(text));
    expect(await ask(gateway)).toMatchObject(invalid);
    expect(gateway.records).toMatchObject([{ status: 502, charge: "0" }]);
  });

  it("more bytes than allowed is a 502, and the rest is not read", async () => {
    let sent = 0;
    const gone = Promise.withResolvers<void>();
    const gateway = await startGateway(
      (_request, response) => {
        response.on("close", () => gone.resolve());
        const more = (): void => {
          while (!response.destroyed && response.write(" ".repeat(65_536))) sent += 65_536;
          if (!response.destroyed) response.once("drain", more);
        };
        more();
      },
      { maxUpstreamResponseBytes: 100_000 },
    );
    expect(await ask(gateway)).toMatchObject({
      ...invalid,
      body: { error: { message: "The provider's response is larger than 100000 bytes." } },
    });
    await gone.promise;
    expect(sent).toBeLessThan(50_000_000);
  });

  it("exactly the allowed bytes is a response", async () => {
    const text = JSON.stringify(ARK_RESPONSE);
    const options = { maxUpstreamResponseBytes: text.length };
    expect(await ask(await startGateway((_request, res) => void res.end(text), options))).toMatchObject({
      status: 200,
    });
    expect(
      await ask(await startGateway((_request, response) => void response.end(`${text} `), options)),
    ).toMatchObject(invalid);
  });

  it("a byte at a time is a response", async () => {
    const gateway = await startGateway((_request, response) => {
      const bytes = Buffer.from(JSON.stringify({ data: [{ url: "https://雪" }] }));
      let next = 0;
      const write = (): void => {
        if (next === bytes.length) response.end();
        else response.write(bytes.subarray(next, ++next), () => setImmediate(write));
      };
      write();
    });
    expect(await ask(gateway)).toMatchObject({ status: 200, body: { data: [{ url: "https://雪" }] } });
  });
});

describe("a provider that", () => {
  it.each<[string, Listener, number, string]>([
    ["hangs up", (request) => void request.socket.resetAndDestroy(), 502, "upstream_invalid_response"],
    ["says nothing", () => {}, 504, "upstream_timeout"],
    [
      "stops in the middle",
      (_request, response) => void response.write('{"data":['),
      504,
      "upstream_timeout",
    ],
    [
      "breaks off in the middle",
      (_request, response) => void response.write('{"data":[', () => response.destroy()),
      502,
      "upstream_invalid_response",
    ],
    [
      "sends less than it declared",
      (_request, response) =>
        void response.writeHead(200, { "content-length": "99" }).write("{}", () => response.destroy()),
      502,
      "upstream_invalid_response",
    ],
    [
      "redirects",
      (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
      502,
      "upstream_error",
    ],
    [
      "has no content",
      (_request, response) => void response.writeHead(204).end(),
      502,
      "upstream_invalid_response",
    ],
    [
      "is gone for good",
      (_request, response) => void response.writeHead(410).end(),
      410,
      "upstream_rejected",
    ],
    [
      "responds with an unknown status",
      (_request, response) => void response.writeHead(799).end(),
      502,
      "upstream_error",
    ],
    [
      "fails and stops in the middle of saying so",
      (_request, response) => void response.writeHead(500).write('{"error":'),
      502,
      "upstream_error",
    ],
    [
      "refuses and breaks off",
      (_request, response) => void response.writeHead(400).write('{"error":', () => response.destroy()),
      400,
      "invalid_request_error",
    ],
  ])("%s gets an envelope, within its time, with a record", async (_what, listener, status, code) => {
    const start = performance.now();
    const response = await ask(await startGateway(listener));
    expect(response).toMatchObject({ status, body: { error: { code } } });
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it("fails with an endless error is not read to its end", async () => {
    let sent = 0;
    const gone = Promise.withResolvers<void>();
    const gateway = await startGateway((_request, response) => {
      response.writeHead(500);
      response.on("close", () => gone.resolve());
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536))) sent += 65_536;
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    expect(await ask(gateway)).toMatchObject({ status: 502, body: { error: { code: "upstream_error" } } });
    await gone.promise;
    expect(sent).toBeLessThan(50_000_000);
  });

  it("sends hostile headers does not reach the client with them", async () => {
    const gateway = await startGateway((_request, response) => {
      response.writeHead(200, {
        "set-cookie": "a=b",
        location: "http://evil",
        "x-request-id": "theirs",
        "content-type": "text/html",
        "x-should-retry": "true",
      });
      response.end(JSON.stringify(ARK_RESPONSE));
    });
    const { status, headers } = await ask(gateway);
    expect(status).toBe(200);
    expect([...headers.keys()]).toEqual(["cache-control", "content-type", "x-request-id"]);
    expect(headers.get("content-type")).toBe("application/json");
  });
});
