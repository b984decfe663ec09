import { createMemoryLedger } from "@calotype/core/stores";
import { expect, it } from "vitest";
import { sentUpstream } from "../../conformance/src/clients/support/sent-upstream.js";
import { SEEDREAM } from "../../conformance/src/support/test-gateway.js";
import { useProviders } from "../../conformance/src/support/use-providers.js";
import type { TaskEvent } from "./index.js";
import { startFaultyProxy } from "./testing/faulty-proxy.js";
import { drawFile, openGateway } from "./testing/open-gateway.js";

const providers = useProviders({ images: "tiny", millisecondsPerImage: 400 });
const open = (options: Parameters<typeof openGateway>[1] = {}) => openGateway(providers(), options);
const REQUEST = { model: SEEDREAM, prompt: "3 herons", n: 3, size: "1K" };
const REFUSED = { ...REQUEST, prompt: "InputTextSensitiveContentDetected" };

async function collect(events: AsyncIterable<TaskEvent>): Promise<TaskEvent[]> {
  const all: TaskEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

it("a task is submitted, and waited for by a second client that knows its id", async () => {
  const { client, connect, records } = await open();

  const task = await client.tasks.submit(REQUEST);
  expect(task).toMatchObject({ id: expect.stringMatching(/^task_/), status: "queued", model: SEEDREAM });
  const result = await connect().tasks.wait(task.id);

  expect(result.data).toHaveLength(3);
  expect(result.requestId).toBe(task.request_id);
  expect(records).toMatchObject([{ task: task.id, charge: "0.09" }]);
  expect(await client.tasks.get(task.id)).toMatchObject({ status: "completed" });
  // Nothing is sent for a task that is known to have ended.
  const ended = await client.tasks.get(task.id);
  expect(await connect({ baseUrl: "http://127.0.0.1:1" }).tasks.wait(ended)).toMatchObject(
    ended.result ?? {},
  );
});

it("the events are the states and the images, each once", async () => {
  const { client } = await open();
  const { id } = await client.tasks.submit({
    ...REQUEST,
    images: await drawFile(1),
  });

  const events = await collect(client.tasks.events(id));

  const statuses = events.flatMap((event) => (event.type === "status" ? [event.task.status] : []));
  expect(statuses.at(-1)).toBe("completed");
  expect(new Set(statuses).size).toBe(statuses.length);
  const last = events.at(-1);
  expect(last?.type === "status" && last.task.result?.data).toHaveLength(3);
});

it("a client that loses its connection again and again gets each event once, and the end", async () => {
  const { client, url, connect } = await open();
  const proxy = await startFaultyProxy(url);
  const { id } = await client.tasks.submit(REQUEST);
  const behind = connect({ baseUrl: proxy.url });
  const dropping = setInterval(() => proxy.dropAll(), 700);

  const events = await collect(behind.tasks.events(id)).finally(() => clearInterval(dropping));

  const keys = events.map((event) => (event.type === "image" ? event.index : event.task.status));
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.at(-1)).toBe("completed");
});

it("a submission whose connection breaks is one task", async () => {
  const { url, connect, client } = await open();
  const proxy = await startFaultyProxy(url);
  proxy.cutResponse(0);
  const behind = connect({ baseUrl: proxy.url, headers: { connection: "close" } });

  const task = await behind.tasks.submit(REQUEST);

  expect(proxy.requests()).toBe(2);
  expect((await client.tasks.list()).data.map(({ id }) => id)).toEqual([task.id]);
  await client.tasks.wait(task);
  expect(sentUpstream(providers())).toHaveLength(1);
});

it("the list has pages", async () => {
  const { client } = await open({ tasks: { concurrency: 0 } });
  const first = await client.tasks.submit(REQUEST);
  const second = await client.tasks.submit(REQUEST);

  const page = await client.tasks.list({ limit: 1 });
  expect(page).toMatchObject({ data: [{ id: second.id }], has_more: true });
  const next = await client.tasks.list({ limit: 1, after: page.last_id ?? "" });
  expect(next).toMatchObject({ data: [{ id: first.id }], has_more: false });
});

it("a task of a list is waited for like any other: it has no result there", async () => {
  const { client } = await open();
  await client.tasks.wait(await client.tasks.submit(REQUEST));
  const [task] = (await client.tasks.list()).data;
  expect(task).toMatchObject({ status: "completed" });
  expect((await client.tasks.wait(task ?? "")).data).toHaveLength(3);
});

it("a task that waits can be cancelled, and the client that waits for it learns that", async () => {
  const { client } = await open({ tasks: { concurrency: 0 } });
  const { id } = await client.tasks.submit(REQUEST);
  const waiting = client.tasks.wait(id).catch((error: unknown) => error);

  expect(await client.tasks.cancel(id)).toMatchObject({ status: "cancelled" });

  expect(await waiting).toMatchObject({ name: "CalotypeError", code: "task_cancelled" });
});

it("a failed task rejects with its error, and cannot be cancelled", async () => {
  const { client } = await open();
  const task = await client.tasks.submit(REFUSED);

  await expect(client.tasks.wait(task)).rejects.toMatchObject({
    code: "InputTextSensitiveContentDetected",
    requestId: task.request_id,
    status: undefined,
  });
  await expect(client.tasks.cancel(task.id)).rejects.toMatchObject({
    code: "task_not_cancellable",
    status: 409,
  });
});

it("an unknown id is an error at once", async () => {
  const { client } = await open();
  const unknown = { code: "task_not_found", status: 404 };
  await expect(client.tasks.get("task_/../x")).rejects.toMatchObject(unknown);
  await expect(client.tasks.wait(`task_${"0".repeat(32)}`)).rejects.toMatchObject(unknown);
});

it("waiting can be aborted, or limited, and the task goes on", async () => {
  const { client } = await open();
  const { id } = await client.tasks.submit(REQUEST);

  await expect(client.tasks.wait(id, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
    name: "TimeoutError",
  });
  await expect(client.tasks.wait(id, { timeoutSeconds: 0.05 })).rejects.toMatchObject({ code: "timeout" });

  expect((await client.tasks.wait(id)).data).toHaveLength(3);
});

it("a gateway without tasks makes the images at once", async () => {
  const ledger = { ...createMemoryLedger(), tasks: undefined };
  const { client } = await open({ ledger });

  const task = await client.tasks.submit(REQUEST);

  expect(task).toMatchObject({ status: "completed", id: expect.stringMatching(/^req_/) });
  expect((await client.tasks.wait(task)).data).toHaveLength(3);
});
