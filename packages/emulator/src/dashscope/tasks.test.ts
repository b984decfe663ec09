import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import type { EmulatorOptions } from "../options.js";
import { askDashscope, download } from "../test-support/ask.js";
import { askJson } from "../test-support/ask-json.js";

const base = "http://emulator.test/api/v1";
const headers = { authorization: "Bearer k", "x-dashscope-async": "enable" };

interface TaskBody {
  readonly output: {
    readonly task_id: string;
    readonly task_status: string;
    readonly code?: string;
    readonly choices?: readonly { message: { content: readonly { type: string; image: string }[] } }[];
  };
  readonly usage?: object;
  readonly request_id: string;
  readonly code?: string;
}

function submit(
  emulator: Emulator,
  parameters: object = { n: 1 },
  model = "wan2.7-image",
  sent: Record<string, string> = headers,
) {
  const body = { model, input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] }, parameters };
  const url = `${base}/services/aigc/image-generation/generation`;
  return askJson<TaskBody>(emulator, url, { method: "POST", headers: sent, body });
}

function poll(emulator: Emulator, id: string) {
  return askJson<TaskBody>(emulator, `${base}/tasks/${id}`, { headers });
}

function onAClock(options: EmulatorOptions = {}) {
  const clock = { now: Date.parse("2026-11-21T09:30:00Z") };
  return { clock, emulator: createEmulator({ images: "tiny", now: () => clock.now, ...options }) };
}

describe("a task of DashScope", () => {
  it("goes from PENDING to SUCCEEDED, with links of a day", async () => {
    const { clock, emulator } = onAClock({ millisecondsInQueue: 1000, millisecondsPerImage: 2000 });
    const { body } = await submit(emulator, { n: 2, size: "1K" });
    const id = body.output.task_id;
    expect(body).toStrictEqual({
      output: { task_id: id, task_status: "PENDING" },
      request_id: expect.any(String),
    });
    expect((await poll(emulator, id)).body.output.task_status).toBe("PENDING");
    clock.now += 1000;
    expect((await poll(emulator, id)).body.output.task_status).toBe("RUNNING");
    clock.now += 4000;
    const done = await poll(emulator, id);
    expect(done.body).toMatchObject({
      output: { task_id: id, task_status: "SUCCEEDED", submit_time: "2026-11-21 17:30:00.000" },
      usage: { image_count: 2, size: "1024*1024" },
    });
    const content = done.body.output.choices?.[0]?.message.content ?? [];
    expect(content.map(({ type }) => type)).toEqual(["image", "image"]);
    expect((await download(emulator, content[0]?.image)).status).toBe(200);
    expect((await poll(emulator, id)).body.output.choices).toEqual(done.body.output.choices);
    clock.now += 86_400_000;
    expect((await poll(emulator, id)).body.output.task_status).toBe("UNKNOWN");
  });

  it("can be canceled while it waits only", async () => {
    const { clock, emulator } = onAClock({ millisecondsInQueue: 1000, millisecondsPerImage: 1000 });
    const [first, second] = [await submit(emulator), await submit(emulator)];
    const cancel = (id: string) =>
      askJson<TaskBody>(emulator, `${base}/tasks/${id}/cancel`, { method: "POST", headers });
    expect((await cancel(first.body.output.task_id)).status).toBe(200);
    expect((await poll(emulator, first.body.output.task_id)).body.output.task_status).toBe("CANCELED");
    clock.now += 1500;
    const refused = await cancel(second.body.output.task_id);
    expect([refused.status, refused.body.code]).toEqual([400, "UnsupportedOperation"]);
  });

  it.each<[Fault, string, string | undefined]>([
    [{ task: { end: "failed" } }, "FAILED", "InternalError"],
    [{ task: { end: "failed", code: "InvalidParameter" } }, "FAILED", "InvalidParameter"],
    [{ failImages: [{ index: 0 }] }, "FAILED", "DataInspectionFailed"],
    [{ task: { end: "canceled" } }, "CANCELED", undefined],
    [{ task: { end: "lost" } }, "UNKNOWN", undefined],
  ])("ends as the fault %j says, with status 200", async (fault, status, code) => {
    const { emulator } = onAClock();
    emulator.faults.add(fault);
    const { body } = await submit(emulator);
    const polled = await poll(emulator, body.output.task_id);
    expect([polled.status, polled.body.output.task_status, polled.body.output.code]).toEqual([
      200,
      status,
      code,
    ]);
  });

  it.each([
    [{ authorization: "Bearer k" }, "wan2.7-image", 403, "AccessDenied"],
    [headers, "qwen-image-2.0", 403, "AccessDenied"],
    [headers, "wan9", 404, "ModelNotFound"],
  ])("is refused with %j for %s", async (sent, model, status, code) => {
    const response = await submit(createEmulator(), { n: 1 }, model, sent);
    expect([response.status, response.body.code]).toEqual([status, code]);
  });
});

describe("Wan without a task", () => {
  it.each([
    ["wan2.7-image", undefined, 200, { image_count: 4, size: "2048*2048" }],
    ["wan2.7-image", { n: 1, size: "1280*720" }, 200, { image_count: 1, size: "1280*720" }],
    ["wan2.7-image-pro", { n: 1, size: "4K" }, 200, { image_count: 1, size: "4096*4096" }],
    ["wan2.7-image-pro", { n: 12, enable_sequential: true, size: "1K" }, 200, { image_count: 12 }],
  ])("%s with %j succeeds", async (model, parameters, status, usage) => {
    const emulator = createEmulator({ images: "tiny" });
    const response = await askDashscope(emulator, {
      model,
      ...(parameters === undefined ? {} : { parameters }),
    });
    expect(response.status).toBe(status);
    expect(response.body.usage).toMatchObject(usage);
  });

  it.each([{ n: 5 }, { n: 1, size: "4K" }, { n: 1, size: "16*16" }])("refuses %j", async (parameters) => {
    const { status, body } = await askDashscope(createEmulator(), { model: "wan2.7-image", parameters });
    expect([status, body.code]).toEqual([400, "InvalidParameter"]);
  });

  it("has 4K without input images only, and at most nine of them", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const image = "https://example.com/a.png";
    const ask = (count: number, size: string) =>
      askDashscope(emulator, {
        model: "wan2.7-image-pro",
        images: Array.from({ length: count }, () => image),
        parameters: { n: 1, size },
      });
    expect([(await ask(1, "4K")).status, (await ask(9, "2K")).status, (await ask(10, "2K")).status]).toEqual([
      400, 200, 400,
    ]);
  });
});
