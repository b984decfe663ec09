import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Transform } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway, hashApiKey } from "@calotype/core";
import { describe, expect, it, onTestFinished } from "vitest";
import { handleNodeRequest } from "./handle-node-request.js";

const API_KEY = "sk-of-a-client";
const MODEL = "seedream-4-5-251128";
const BODY = JSON.stringify({ model: MODEL, prompt: "a fox in the snow" });

function openGateway() {
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "key-of-ark" }],
    callers: [{ id: "me", hash: hashApiKey(API_KEY) }],
    fetch: async () =>
      Response.json({ created: 1, data: [{ url: "https://x.test/1" }], usage: { generated_images: 1 } }),
  });
  onTestFinished(async () => await gateway.close());
  return gateway;
}

/** Sends the body to a host, in one piece with its head. */
async function postTo(listener: RequestListener): Promise<Response> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return await fetch(`http://127.0.0.1:${port}/v1/images/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: BODY,
  });
}

describe("a body that other code also reads", () => {
  it.each<[string, (req: IncomingMessage, take: (chunk: Buffer) => void) => unknown]>([
    ["listens", (req, take) => req.on("data", take)],
    ["pipes it", (req, take) => req.pipe(new PassThrough()).on("data", take)],
    ["iterates over it", (req, take) => void takeAll(req, take)],
  ])("is whole for both where that one %s after the gateway was given it", async (_does, read) => {
    const gateway = openGateway();
    const taken: Buffer[] = [];
    const response = await postTo((req, res) => {
      void handleNodeRequest(gateway, req, res);
      read(req, (chunk) => taken.push(chunk));
    });
    expect(await response.json()).toMatchObject({ data: [{ url: "https://x.test/1" }] });
    expect(Buffer.concat(taken).toString()).toBe(BODY);
  });

  it("is complete for the gateway if the other code discards it", async () => {
    const gateway = openGateway();
    const response = await postTo((req, res) => {
      void handleNodeRequest(gateway, req, res);
      req.resume();
    });
    expect(response.status).toBe(200);
  });

  it("is complete for both if the other code was set up before and reads it later", async () => {
    const gateway = openGateway();
    const taken: Buffer[] = [];
    const response = await postTo((req, res) => {
      req.on("readable", () => {
        for (let chunk = req.read() as Buffer | null; chunk !== null; chunk = req.read() as Buffer | null) {
          taken.push(chunk);
        }
      });
      void handleNodeRequest(gateway, req, res);
    });
    expect(response.status).toBe(200);
    expect(Buffer.concat(taken).toString()).toBe(BODY);
  });
});

it.each([
  ["with", (done: (error: Error) => void) => done(new Error("The digest is wrong."))],
  ["some time after", (done: (error: Error) => void) => void pause(20).then(() => done(new Error("Late.")))],
])("a body with which fault is found %s its last byte is refused", async (_when, check) => {
  const gateway = openGateway();
  const response = await postTo((req, res) => {
    const checked = new Transform({
      transform: (chunk, _encoding, done) => done(null, chunk),
      flush: check,
    });
    const { headers, method, url, socket, httpVersionMajor } = req;
    const request = Object.assign(req.pipe(checked), { headers, method, url, socket, httpVersionMajor });
    // As middleware does that checks what passes.
    void handleNodeRequest(gateway, request as unknown as IncomingMessage, res);
  });
  expect(response.status).toBe(499);
});

async function takeAll(req: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  for await (const chunk of req) take(chunk as Buffer);
}
