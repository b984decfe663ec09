import { describe, expect, it, vi } from "vitest";
import { createMinimalLedger } from "../../billing/minimal-ledger.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import {
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type Provider,
} from "../../testing/test-gateway.js";

const OTHER_KEY = "caller-canary-of-another";
const BILLING = {
  model_details: { "image-*": { pricing_mode: "per-request" as const, model_price: "0.2" } },
};
const SERVICES = "/api/v1/services/aigc";
const FOX = {
  model: "image-max",
  input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] },
  parameters: { size: "1328*1328", watermark: false },
};

interface Body {
  readonly output: { readonly task_id: string; readonly task_status: string };
}

function create(
  options: Partial<GatewayOptions> = {},
  provider: Provider = () => Response.json(DASHSCOPE_RESPONSE),
) {
  const created = createTestGateway(provider, {
    models: { "image-*": { family: "qwen-image" }, doodle: { family: "seedream" } },
    callers: [
      { id: "me", key: CALLER_KEY },
      { id: "other", key: OTHER_KEY },
    ],
    ...options,
  });
  const send = async (path: string, fields?: object, headers: Record<string, string> = {}) => {
    const response = await created.gateway.fetch(
      new Request(`http://gateway.test${path}`, {
        method: fields === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
        ...(fields !== undefined && { body: JSON.stringify(fields) }),
      }),
    );
    const body: Body = JSON.parse(await response.text());
    return { status: response.status, body, headers: response.headers };
  };
  const submit = (fields: object, path = `${SERVICES}/multimodal-generation/generation`, headers = {}) =>
    send(path, fields, { "x-dashscope-async": "enable", ...headers });
  const end = (id: string) =>
    vi.waitFor(async () => {
      const task = await send(`/api/v1/tasks/${id}`);
      expect(task.body.output.task_status).toMatch(/^(?:SUCCEEDED|FAILED)$/);
      return task;
    });
  return { ...created, send, submit, end };
}

describe("a request with X-DashScope-Async: enable", () => {
  it("becomes a task, which is read in DashScope's shape and charged once", async () => {
    const { submit, end, calls, records } = create({
      billing: BILLING,
      models: { "image-*": { family: "qwen-image" } },
    });

    const { status, body, headers } = await submit(FOX);
    const { task_id: id } = body.output;

    expect([status, body]).toEqual([
      200,
      { request_id: headers.get("x-request-id"), output: { task_id: id, task_status: "PENDING" } },
    ]);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
    expect(await end(id)).toMatchObject({
      status: 200,
      body: {
        request_id: expect.stringMatching(/^req_/),
        output: {
          task_id: id,
          task_status: "SUCCEEDED",
          submit_time: time,
          end_time: time,
          finished: true,
          choices: [
            {
              finish_reason: "stop",
              message: {
                role: "assistant",
                content: [{ type: "image", image: "https://dashscope.test/1.png" }],
              },
            },
          ],
          results: [{ url: "https://dashscope.test/1.png" }],
          task_metrics: { TOTAL: 1, SUCCEEDED: 1, FAILED: 0 },
        },
        usage: { image_count: 1 },
      },
    });
    expect(calls.map((call) => call.body)).toEqual([FOX]);
    expect(records).toMatchObject([{ model: "image-max", images: 1, charge: "0.2", task: id }]);
  });

  it.each<[path: string, fields: object, sent: readonly string[]]>([
    ["image-generation/generation", FOX, ['{"text":"a fox"}']],
    [
      "text2image/image-synthesis",
      {
        model: "image-max",
        input: { prompt: "a fox", negative_prompt: "owls" },
        parameters: FOX.parameters,
      },
      ['{"text":"a fox"}', '"negative_prompt":"owls"'],
    ],
    [
      "image2image/image-synthesis",
      { model: "image-edit", input: { prompt: "a fox", images: ["https://a.test/1.png"] } },
      ['[{"image":"https://a.test/1.png"},{"text":"a fox"}]'],
    ],
  ])("is also taken at %s", async (path, fields, sent) => {
    const { submit, end, calls } = create();

    const { body } = await submit(fields, `${SERVICES}/${path}`);
    await end(body.output.task_id);

    for (const part of sent) expect(calls[0]?.text).toContain(part);
  });

  it("has the error of the provider in a task that failed", async () => {
    const error = { code: "DataInspectionFailed", message: "Inappropriate.", request_id: "1" };
    const { submit, end } = create({}, () => Response.json(error, { status: 400 }));

    const { body } = await submit(FOX);
    const { status, body: task } = await end(body.output.task_id);

    expect([status, task.output]).toMatchObject([
      200,
      { task_status: "FAILED", code: "DataInspectionFailed", message: "Inappropriate." },
    ]);
  });

  it.each<[what: string, fields: object, headers: Record<string, string>, status: number, code: string]>([
    ["a wrong key", FOX, { authorization: "Bearer wrong" }, 401, "invalid_api_key"],
    ["an unknown model", { ...FOX, model: "none" }, {}, 404, "model_not_found"],
    ["a model of another family", { ...FOX, model: "doodle" }, {}, 400, "invalid_request_error"],
    ["two messages", { ...FOX, input: { messages: [{}, {}] } }, {}, 400, "invalid_request_error"],
    ["no input", { model: "image-max" }, {}, 400, "invalid_request_error"],
    ["a mask", { ...FOX, input: { prompt: "a", mask_image_url: "x" } }, {}, 400, "invalid_request_error"],
    [
      "images that are no list",
      { ...FOX, input: { prompt: "a", images: "x" } },
      {},
      400,
      "invalid_request_error",
    ],
    ["a wrong number of images", { ...FOX, parameters: { n: 99 } }, {}, 400, "invalid_request_error"],
    ["events", FOX, { "x-dashscope-sse": "enable" }, 400, "invalid_request_error"],
  ])("is refused in DashScope's shape for %s", async (_what, fields, headers, status, code) => {
    const { submit, calls } = create();
    const refused = await submit(fields, undefined, headers);
    expect([refused.status, refused.body]).toMatchObject([
      status,
      { code, message: expect.any(String), request_id: expect.stringMatching(/^req_/), error: { code } },
    ]);
    expect(calls).toEqual([]);
  });

  it("is refused without a ledger that keeps tasks", async () => {
    const { submit } = create({ ledger: createMinimalLedger({ now: Date.now }) });
    const { status, body } = await submit(FOX);
    expect([status, body]).toMatchObject([400, { message: expect.stringContaining("X-DashScope-Async") }]);
  });
});

describe("/api/v1/tasks/{id}", () => {
  it("is UNKNOWN for a task of another caller, and can be canceled while it waits", async () => {
    const { submit, send } = create({ tasks: { concurrency: 0 } });
    const { body } = await submit(FOX);
    const path = `/api/v1/tasks/${body.output.task_id}`;
    const other = { authorization: `Bearer ${OTHER_KEY}` };

    expect(await send(path, undefined, other)).toMatchObject({
      status: 200,
      body: { output: { task_status: "UNKNOWN" } },
    });
    expect((await send(`${path}/cancel`, {}, other)).body.output.task_status).toBe("UNKNOWN");
    expect((await send(path)).body.output).toMatchObject({ task_status: "PENDING" });
    expect(await send(`${path}/cancel`, {})).toMatchObject({
      status: 200,
      body: { request_id: expect.any(String) },
    });
    expect((await send(path)).body.output).toMatchObject({ task_status: "CANCELED" });
  });

  it("has the error of a task that has ended and cannot be canceled", async () => {
    const { submit, send, end } = create();
    const { body } = await submit(FOX);
    await end(body.output.task_id);
    expect(await send(`/api/v1/tasks/${body.output.task_id}/cancel`, {})).toMatchObject({
      status: 409,
      body: { code: "task_not_cancellable", message: expect.any(String) },
    });
  });

  it("needs a key, and is the host's own path for other ids", async () => {
    const { send, gateway } = create();
    const refused = await send(`/api/v1/tasks/task_${"0".repeat(32)}`, undefined, {
      authorization: "Bearer wrong",
    });
    expect([refused.status, refused.body]).toMatchObject([401, { code: "invalid_api_key" }]);
    const { signal } = new AbortController();
    const headers = new Headers({ authorization: `Bearer ${CALLER_KEY}` });
    const head = { method: "HEAD", url: `/api/v1/tasks/task_${"0".repeat(32)}`, headers, body: null, signal };
    expect((await gateway.handle(head))?.status).toBe(200);
    const request = { method: "GET", url: "/api/v1/tasks/7", headers: new Headers(), body: null, signal };
    expect(gateway.handle(request)).toBeNull();
  });
});
