import { expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { TaskFault } from "../faults/fault.js";
import { askJson } from "../test-support/ask-json.js";
import { inspectLink } from "../test-support/images.js";

const headers = { authorization: "Bearer k", "content-type": "application/json" };

interface Submitted {
  readonly data: readonly { readonly status: string; readonly task_id: string }[];
  readonly error?: object;
}

interface Polled {
  readonly data: {
    readonly status: string;
    readonly cost?: number;
    readonly result?: { readonly images: readonly { readonly url: readonly string[] }[] };
    readonly error?: { readonly code: string };
  };
}

function submit(emulator: Emulator, fields: object = {}) {
  const body = { model: "gpt-image-2", prompt: "a fox", ...fields };
  return askJson<Submitted>(emulator, "http://emulator.test/relay/v1/images/generations", {
    method: "POST",
    headers,
    body,
  });
}

function poll(emulator: Emulator, { data: [task] }: Submitted) {
  return askJson<Polled>(emulator, `http://emulator.test/relay/v1/tasks/${task?.task_id}`, { headers });
}

it("a relay's task goes from pending to completed, with all links and its cost", async () => {
  const emulator = createEmulator();
  emulator.faults.add({ task: { runningPolls: 2 } });
  const { body } = await submit(emulator, { n: 2, size: "16:9" });
  expect(body).toMatchObject({ code: 200, data: [{ status: "submitted" }] });
  const states = [];
  for (let count = 0; count < 2; count += 1) states.push((await poll(emulator, body)).body.data.status);
  const { data } = (await poll(emulator, body)).body;
  expect([...states, data.status, data.cost]).toEqual(["pending", "processing", "completed", 0.08]);
  const links = data.result?.images[0]?.url ?? [];
  expect(links).toHaveLength(2);
  expect(await inspectLink(emulator, links[0])).toMatchObject({ width: 1360, height: 768 });
});

it.each<[TaskFault, string, string]>([
  [{ end: "failed" }, "failed", "server_error"],
  [{ end: "moderation" }, "failed", "content_policy_violation"],
])("a relay's task ends as the fault %j says", async (task, status, code) => {
  const emulator = createEmulator();
  emulator.faults.add({ task });
  const { body } = await submit(emulator);
  expect((await poll(emulator, body)).body.data).toMatchObject({ status, error: { code } });
});

it.each<[object, number]>([
  [{ size: "4:1" }, 400],
  [{ prompt: "content_moderated" }, 400],
  [{ image_urls: ["data:image/png;base64,AAAA"] }, 400],
])("a relay refuses %j", async (fields, code) => {
  const { status, body } = await submit(createEmulator(), fields);
  expect([status, body]).toMatchObject([code, { error: { code } }]);
});

it("a relay does not know a lost task", async () => {
  const emulator = createEmulator();
  emulator.faults.add({ task: { end: "lost" } });
  expect((await poll(emulator, (await submit(emulator)).body)).status).toBe(404);
});

it("a relay may respond with the images at once, as OpenAI does", async () => {
  const emulator = createEmulator({ images: "tiny" });
  emulator.faults.add({ task: { atOnce: true } });
  const { body } = await submit(emulator, { n: 2 });
  expect(body).toMatchObject({ data: [1, 2].map(() => ({ url: expect.stringMatching(/^http/) })) });
});
