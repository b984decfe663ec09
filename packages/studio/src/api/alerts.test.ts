import { createMemoryLedger, type GatewayOptions } from "@calotype/core";
import { expect, it, vi } from "vitest";
import { CALLER_KEY, MODEL, type OpenStudio, openStudio } from "../testing/open-studio.js";

/** A studio whose caller has spent 60 % of its budget. */
async function openAlerted(options: Partial<GatewayOptions> = {}): Promise<OpenStudio> {
  const test = openStudio({ authorize: () => "viewer" }, options);
  const body = JSON.stringify({ model: MODEL, prompt: "a fox", n: 3 });
  const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
  const url = "http://localhost/v1/images/generations";
  await test.gateway.fetch(new Request(url, { method: "POST", headers, body })).then((sent) => sent.text());
  return test;
}

const callers = [{ id: "shop", key: CALLER_KEY, budget: { amount: "1", period: "day" } }] as const;

it("the alerts of all callers or of one are listed, with whether they were delivered", async () => {
  const { send } = await openAlerted({ callers, onBudget: () => undefined });
  const alert = { caller: "shop", threshold: 50, budget: "1", settled: "0.6", period: { unit: "day" } };

  await vi.waitFor(async () => {
    const { json } = await send({ path: "/api/alerts" });
    expect(json).toMatchObject({
      alerts: [{ ...alert, state: "delivered", isForOnBudget: true, endpoints: [] }],
    });
  });
  const { json: own } = await send({ path: "/api/alerts?caller=shop" });
  expect(own).toMatchObject({ alerts: [alert] });
  expect((await send({ path: "/api/alerts?caller=other" })).json).toEqual({ alerts: [] });
});

it("an alert names the endpoints of webhooks that it has a message for", async () => {
  const secrets = [`whsec_${Buffer.alloc(32, 7).toString("base64")}`];
  const orders = { url: "https://hooks.example.com/", secrets };
  const { send } = await openAlerted({ callers, webhooks: { endpoints: { shop: { orders } } } });

  await vi.waitFor(async () => {
    const { json } = await send({ path: "/api/alerts" });
    expect(json).toMatchObject({ alerts: [{ isForOnBudget: false, endpoints: ["orders"] }] });
  });
});

it("an alert without a receiver says so", async () => {
  const { send } = await openAlerted({ callers });
  expect((await send({ path: "/api/alerts" })).json).toMatchObject({
    alerts: [{ state: "not_sent", isForOnBudget: false, endpoints: [] }],
  });
});

it("a ledger that keeps no alerts has none", async () => {
  const { outbox: _outbox, ...ledger } = createMemoryLedger();
  const { send, gateway } = await openAlerted({ callers, ledger });
  await expect(gateway.alerts.list()).rejects.toThrow(TypeError);
  expect(await send({ path: "/api/alerts" })).toMatchObject({ status: 200, json: { alerts: [] } });
});

it("a wrong limit is refused", async () => {
  const { gateway } = await openAlerted();
  await expect(gateway.alerts.list({}, 0)).rejects.toThrow(RangeError);
});
