import type { IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import express from "express";
import { Webhook } from "standardwebhooks";
import { expect, it, onTestFinished, vi } from "vitest";
import { CALLER_KEY, serve } from "./clients/support/serve.js";
import { listen } from "./support/listen.js";
import { useProviders } from "./support/use-providers.js";

// The receivers are those of docs/webhooks.md.

const SECRET = `whsec_${btoa("s".repeat(32))}`;
const webhook = new Webhook(SECRET);
const providers = useProviders();

const toRequest = async (request: IncomingMessage): Promise<Request> =>
  new Request("http://receiver.test/", {
    method: "POST",
    headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    body: new Uint8Array(await buffer(request)),
  });

it("receivers in Express and over Web requests verify the end of a task and get its result", async () => {
  const events: unknown[] = [];
  const app = express().post("/express", express.raw({ type: "application/json" }), (req, res) => {
    const event = webhook.verify(String(req.body), {
      "webhook-id": req.get("webhook-id") ?? "",
      "webhook-timestamp": req.get("webhook-timestamp") ?? "",
      "webhook-signature": req.get("webhook-signature") ?? "",
    });
    events.push(event);
    res.status(204).end();
  });
  app.post("/web", async (req, res) => {
    const request = await toRequest(req);
    events.push(webhook.verify(await request.text(), Object.fromEntries(request.headers)));
    res.status(204).end();
  });
  const receiver = await listen(app);
  onTestFinished(receiver.close);
  const toEndpoint = (path: string) => ({ url: `${receiver.url}${path}`, secrets: [SECRET] });
  const { url, gateway } = await serve(providers(), {
    webhooks: {
      endpoints: { tester: { express: toEndpoint("/express"), web: toEndpoint("/web") } },
      allowHosts: ["127.0.0.1"],
    },
  });
  const response = await fetch(`${url}/v1/images/generations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${CALLER_KEY}`,
      "content-type": "application/json",
      prefer: "respond-async",
    },
    body: JSON.stringify({ model: "seedream-4-0-250828", prompt: "a lighthouse" }),
  });
  expect(response.status).toBe(202);
  const { id } = (await response.json()) as { readonly id: string };
  await vi.waitFor(() => expect(events).toHaveLength(2));

  const task = await fetch(`${url}/v1/images/tasks/${id}`, {
    headers: { authorization: `Bearer ${CALLER_KEY}` },
  });
  const data: unknown = await task.json();
  expect(data).toMatchObject({ id, status: "completed", result: { data: [{ url: expect.any(String) }] } });
  for (const event of events) {
    expect(event).toEqual({ type: "image.task.completed", timestamp: expect.any(String), data });
  }
  await gateway.close();
  expect(await gateway.webhooks.list()).toMatchObject([{ state: "delivered" }, { state: "delivered" }]);
});
