import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, createGateway } from "@calotype/core";
import { expect, it, onTestFinished, vi } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const MODEL = "seedream-4-5-251128";
const IMAGE = `data:image/png;base64,${Buffer.alloc(300_000, 7).toString("base64")}`;
const BODY = JSON.stringify({ model: MODEL, prompt: "a fox in the snow", image: IMAGE });

function openGateway() {
  const sent: string[] = [];
  const refused: unknown[] = [];
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "key-of-ark" }],
    callers: [],
    onError: ({ error }) => void refused.push(error.code),
    logger: { warn() {}, error() {} },
    fetch: async (_url, { body }) => {
      sent.push(await new Response(body).text());
      return Response.json({
        created: 1,
        data: [{ url: "https://x.test/1" }],
        usage: { generated_images: 1 },
      });
    },
  });
  onTestFinished(async () => await gateway.close());
  return { gateway, sent, refused };
}

async function connect(listener: RequestListener, length = BODY.length) {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return request({
    port,
    host: "127.0.0.1",
    path: "/v1/images/generations",
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      "content-length": length,
      "sec-fetch-site": "same-origin",
    },
  });
}

it.each<[string, (req: IncomingMessage) => unknown]>([
  ["does nothing", () => undefined],
  ["discards it", (req) => req.resume()],
  ["listens to it", (req) => req.on("data", () => {})],
  ["pipes it", (req) => req.pipe(new PassThrough()).resume()],
  ["iterates over it", (req) => buffer(req)],
])("no byte is lost while `caller` waits and other code %s", async (_does, read) => {
  const { gateway, sent } = openGateway();
  const handle = toNodeHandler(gateway, {
    async caller() {
      await pause(100);
      return { id: "42" };
    },
  });
  const client = await connect((req, res) => {
    handle(req, res);
    read(req);
  });
  client.end(BODY);
  const [response] = (await once(client, "response")) as [IncomingMessage];
  expect([response.statusCode, await text(response)]).toEqual([200, expect.stringContaining("x.test")]);
  expect(sent.map((body) => JSON.parse(body).image)).toEqual([IMAGE]);
});

it("`caller` may read the body too", async () => {
  const { gateway, sent } = openGateway();
  const handle = toNodeHandler(gateway, {
    async caller(req) {
      const body = await buffer(req);
      return { id: String(body.length) };
    },
  });
  const client = await connect(handle);
  client.end(BODY);
  const [response] = (await once(client, "response")) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(200);
  expect(sent.map((body) => JSON.parse(body).image)).toEqual([IMAGE]);
});

it("nothing is sent for a client that leaves while `caller` waits", async () => {
  const { gateway, sent, refused } = openGateway();
  const found = Promise.withResolvers<Caller>();
  const caller = vi.fn<() => Promise<Caller>>(() => found.promise);
  const client = await connect(toNodeHandler(gateway, { caller }));
  client.on("error", () => undefined);
  client.write(BODY.slice(0, 1000));
  await vi.waitFor(() => expect(caller).toHaveBeenCalled());
  client.destroy();
  await pause(50);
  found.resolve({ id: "42" });
  await vi.waitFor(() => expect(refused).toEqual(["client_closed_request"]));
  expect(sent).toEqual([]);
});

it("a refused upload gets its response before its bytes have come", async () => {
  const { gateway } = openGateway();
  const client = await connect(toNodeHandler(gateway, { caller: () => null }), 50_000_000);
  client.on("error", () => undefined);
  client.write("x".repeat(1000));
  const [response] = (await once(client, "response")) as [IncomingMessage];
  expect(response.statusCode).toBe(401);
  expect(await text(response)).toContain("not_signed_in");
  client.destroy();
});
