import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { createGateway, type Gateway } from "@calotype/core";
import { expect, it, onTestFinished } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const KEY = "caller-canary-3d1f0a77";
const AUTHORIZATION = `authorization: Bearer ${KEY}`;

function openGateway(): Gateway {
  return createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "unused" }],
    callers: [{ id: "me", key: KEY }],
    bodyLimits: { slowAfterSeconds: 1 },
    fetch: () => Promise.reject(new Error("Nothing is to be sent.")),
    logger: { warn: () => undefined, error: () => undefined },
  });
}

async function open(): Promise<{ gateway: Gateway; socket: Socket; connections: () => Promise<number> }> {
  const gateway = openGateway();
  const server = createServer(toNodeHandler(gateway));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const connections = (): Promise<number> =>
    new Promise((resolve) => void server.getConnections((_error, count) => resolve(count)));
  return { gateway, socket, connections };
}

const head = (path: string, ...lines: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, "host: gateway", AUTHORIZATION, ...lines, "", ""].join("\r\n");

const JSON_TYPE = "content-type: application/json";
const FORM_TYPE = "content-type: multipart/form-data; boundary=b";

it.each([
  ["JSON with a length", head("/v1/images/generations", JSON_TYPE, "content-length: 900000"), ""],
  ["JSON that stops", head("/v1/images/generations", JSON_TYPE, "content-length: 900000"), '{"model":'],
  ["JSON in chunks", head("/v1/images/generations", JSON_TYPE, "transfer-encoding: chunked"), "1\r\n{\r\n"],
  [
    "a form that stops",
    head("/v1/images/edits", FORM_TYPE, "content-length: 900000"),
    '--b\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\nGIF89a',
  ],
])(
  "a client whose body does not come sees a 408, and its connection ends: %s",
  async (_what, start, body) => {
    const { gateway, socket, connections } = await open();
    socket.write(start + body);
    const received = await text(socket);
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toMatch(/^connection: close\r$/m);
    expect(received).toContain('"code":"request_timeout"');
    expect(await connections()).toBe(0);
    await gateway.close();
  },
);

it("bytes that arrive after the 408 are not a second request", async () => {
  const { gateway, socket } = await open();
  const late = head("/v1/images/generations", JSON_TYPE, "content-length: 2");
  socket.write(head("/v1/images/generations", JSON_TYPE, `content-length: ${late.length}`));
  socket.once("data", () => void socket.write(`${late}{}`));
  const received = await text(socket);
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  await gateway.close();
});

it("an HTTP/2 stream whose body does not arrive gets a 408 and ends", async () => {
  const gateway = openGateway();
  const handler = toNodeHandler(gateway);
  const server = createHttp2Server((req, res) => handler(req as never, res as never));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const stream = client.request({
    ":method": "POST",
    ":path": "/v1/images/generations",
    authorization: `Bearer ${KEY}`,
    "content-type": "application/json",
  });
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  expect(headers[":status"]).toBe(408);
  expect(await text(stream)).toContain("request_timeout");
  await gateway.close();
});
