import { createMemoryLedger } from "@calotype/core";
import { expect, it } from "vitest";
import { CALLER_KEY, MODEL, type OpenStudio, openStudio } from "../testing/open-studio.js";

/** A request of a client of the gateway, which becomes a task. */
function submit({ gateway }: OpenStudio): Promise<Response> {
  return gateway.fetch(
    new Request("http://localhost/v1/images/generations", {
      method: "POST",
      headers: {
        authorization: `Bearer ${CALLER_KEY}`,
        "content-type": "application/json",
        prefer: "respond-async",
      },
      body: JSON.stringify({ model: MODEL, prompt: "a fox" }),
    }),
  );
}

it("the tasks of all callers are listed, and one that waits is cancelled", async () => {
  const test = openStudio({}, { tasks: { concurrency: 0 } });
  await submit(test);
  await submit(test);
  const { json: queue } = await test.send({ path: "/api/tasks?state=queued" });
  expect(queue).toMatchObject({ queued: 2, inProgress: 0, tasks: { length: 2 } });
  const [newest] = (await test.gateway.tasks.list()).tasks;

  const cancelled = await test.send({ method: "POST", path: `/api/tasks/shop/${newest?.id}/cancel` });
  await test.gateway.runTasks();
  const { json: ended } = await test.send({ path: "/api/tasks?state=ended" });

  expect(cancelled.json).toMatchObject({ id: newest?.id, status: "cancelled" });
  expect(ended).toMatchObject({ tasks: [{ status: "cancelled" }, { status: "completed" }] });
  expect((await test.send({ method: "POST", path: "/api/tasks/other/task_1/cancel" })).status).toBe(404);
});

it("the messages of webhooks are listed and sent again, and an endpoint is enabled", async () => {
  const secrets = [`whsec_${Buffer.alloc(32, 7).toString("base64")}`];
  const test = openStudio(
    {},
    {
      tasks: { concurrency: 0 },
      webhooks: { endpoints: { shop: { orders: { url: "https://hooks.example.com/", secrets } } } },
    },
  );
  await submit(test);
  await test.gateway.runTasks();

  const { json } = await test.send({ path: "/api/webhooks" });
  expect(json).toMatchObject({ messages: [{ caller: "shop", endpoint: "orders" }] });
  const again = await test.send({
    method: "POST",
    path: "/api/webhooks/replay",
    body: { endpoint: "orders" },
  });
  expect(again.json).toEqual({ messages: 1 });
  expect((await test.send({ method: "POST", path: "/api/webhooks/replay", body: {} })).status).toBe(400);
  const enabled = await test.send({
    method: "POST",
    path: "/api/webhooks/enable",
    body: { caller: "shop", endpoint: "orders" },
  });
  expect(enabled.status).toBe(200);
  expect(
    (await test.send({ method: "POST", path: "/api/webhooks/enable", body: { caller: 1 } })).status,
  ).toBe(400);
});

it("says what the ledger cannot do, and lets viewers change nothing", async () => {
  const { tasks: _tasks, outbox: _outbox, ...ledger } = createMemoryLedger();
  const { send } = openStudio({ authorize: () => "viewer" }, { ledger });

  for (const path of ["/api/tasks", "/api/webhooks"]) {
    expect(await send({ path })).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringContaining("ledger") } },
    });
  }
  for (const path of ["/api/tasks/shop/task_1/cancel", "/api/webhooks/replay", "/api/webhooks/enable"]) {
    expect((await send({ method: "POST", path })).status).toBe(403);
  }
});
