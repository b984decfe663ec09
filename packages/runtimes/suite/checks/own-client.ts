import assert from "node:assert/strict";
import { CalotypeError, type Client, createClient } from "@calotype/client";
import { type Bench, CALLER_KEY, SEEDREAM } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, waitFor } from "../expect.ts";
import { createBitmap } from "./create-bitmap.ts";

const REQUEST = { model: SEEDREAM, prompt: "3 images of a kite", size: "1K" };

function openClient({ serve }: Bench, options: Parameters<Bench["serve"]>[0] = {}) {
  const served = serve(options);
  return { ...served, client: createClient({ baseUrl: served.url, apiKey: CALLER_KEY }) };
}

async function expectStream(client: Client): Promise<void> {
  const types: string[] = [];
  for await (const { type } of client.stream({ ...REQUEST, n: 3 })) types.push(type);
  assert.deepEqual(types, ["started", "image", "image", "image", "done"]);
}

/** The project's own client, on the `fetch` of the runtime. */
export const ownClient: readonly Check[] = [
  {
    name: "@calotype/client generates, estimates, edits a file and lists models",
    async run(bench) {
      const { client, records } = openClient(bench, { showPrices: true });
      expectMatch(await client.estimate({ ...REQUEST, n: 3 }), { max_images: 3, charge: "0.09" });
      expectMatch(await client.generate(REQUEST), { data: [{ url: /^http/ }], requestId: /^req_/ });
      const images = new Blob([createBitmap(32, 0)], { type: "image/bmp" });
      expectMatch(await client.edit({ ...REQUEST, images }), { data: [{ url: /^http/ }] });
      assert.ok((await client.models()).some(({ id }) => id === SEEDREAM));
      assert.equal(records.length, 2);
    },
  },
  {
    name: "@calotype/client streams images in both formats",
    async run(bench) {
      for (const streamFormat of ["native", "openai"] as const)
        await expectStream(openClient(bench, { streamFormat }).client);
    },
  },
  {
    name: "@calotype/client submits a task, and follows it to its end",
    async run(bench) {
      // As on hosts that stop between requests: see docs/tasks.md.
      const { client, gateway } = openClient(bench, { tasks: { concurrency: 0 } });
      const { id } = await client.tasks.submit(REQUEST);
      const running = gateway.runTasks({ seconds: 1 });
      const events = [];
      for await (const event of client.tasks.events(id)) events.push(event);
      expectMatch(events.at(-1), { type: "status", task: { id, status: "completed" } });
      expectMatch(await client.tasks.wait(id), { data: [{ url: /^http/ }] });
      await running;
    },
  },
  {
    name: "@calotype/client repeats a refused request with the same key, and is charged once",
    async run(bench) {
      const { client, records } = openClient(bench);
      await bench.fail({ provider: "ark", status: 429, retryAfterSeconds: 1, times: 1 });
      expectMatch(await client.generate(REQUEST), { data: [{ url: /^http/ }] });
      assert.equal(records.filter(({ charge }) => charge === "0.03").length, 1);
    },
  },
  {
    name: "@calotype/client rejects with typed errors, also of a connection that fails",
    async run(bench) {
      const { client } = openClient(bench);
      const wrong = await client.generate({ ...REQUEST, size: "1x1" }).catch((error: unknown) => error);
      assert.ok(wrong instanceof CalotypeError);
      expectMatch(wrong, { code: "invalid_request_error", param: "size", status: 400 });
      const unreachable = createClient({ baseUrl: bench.addresses.closed, maxRetries: 1 });
      const failed = await unreachable.models().catch((error: unknown) => error);
      expectMatch(failed, { code: "connection_failed", shouldRetry: true });
    },
  },
  {
    name: "@calotype/client stops a stream when it is aborted, and the images are charged",
    async run(bench) {
      const { client, records } = openClient(bench);
      await bench.fail({ body: { chunkBytes: 64, pauseMs: 30 }, times: 1 });
      const controller = new AbortController();
      const events = client.stream({ ...REQUEST, n: 3 }, { signal: controller.signal });
      expectMatch((await events.next()).value, { type: "started" });
      controller.abort();
      const error = await events.next().catch((reason: unknown) => reason);
      expectMatch(error, { name: "AbortError" });
      await waitFor("the record", () => records[0], 10_000);
    },
  },
];
