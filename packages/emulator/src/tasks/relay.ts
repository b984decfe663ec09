import { createDialect, fieldRefuser, moderate } from "../dialects/create-dialect.js";
import { listOf, readInputImages } from "../dialects/input-images.js";
import { makeImages } from "../dialects/make-images.js";
import { jsonResponse } from "../http/responses.js";
import type { PixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { relayErrors } from "./error-tables.js";
import type { TaskState } from "./task-store.js";

const code = "invalid_request_error";
/** What the relay charges for an image, in dollars. */
const costPerImage = 0.04;

/** A relay of OpenAI's requests that responds with the id of a task, as docs.apimart.ai describes. */
export const relay = createDialect({
  name: "relay",
  basePath: "/relay/v1/",
  errors: relayErrors,
  codes: { wrongKey: "authentication_error", invalid: code, server: "server_error" },
  operations: [
    { kind: "poll", method: "GET", path: /^tasks\/(?<id>[^/]+)$/, body: "none", respond: getTask },
    { kind: "submit", method: "POST", path: /^images\/generations$/, respond: submit },
  ],
  describeError: ({ status, code: type, message }) => ({ error: { code: status, message, type } }),
});

/** `{ code, data: [{ status, task_id }] }`. */
async function submit(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const model = fields.requiredText("model");
  const prompt = fields.requiredText("prompt");
  moderate(prompt, "content_policy_violation");
  const plan = {
    provider: "relay",
    model,
    prompt,
    n: fields.integer("n", 1, 10) ?? 1,
    size: readSize(fields.text("size")),
    format: fields.choice("output_format", ["png", "jpeg", "webp"]) ?? "png",
    seed: randomSeed(services.random),
    references: await readInputImages(listOf(call.body.image_urls), { call, services, code }),
    deliver: "url",
    failureCode: "content_policy_violation",
  } as const;
  const task = services.tasks.submit({
    provider: "relay",
    model,
    images: plan.n,
    fault: call.fault,
    async makeResult(poll) {
      const atOnce = { ...services, settings: { ...services.settings, millisecondsPerImage: 0 } };
      const images = await makeImages(plan, { call: poll, services: atOnce });
      const url = images.map((image) => ("url" in image ? image.url : image.b64_json));
      const cost = Number((costPerImage * url.length).toFixed(4));
      return { result: { images: [{ url, expires_at: Math.floor(task.endsAt / 1000) + 86_400 }] }, cost };
    },
  });
  if (call.fault.task?.atOnce === true) {
    const created = Math.floor(services.settings.now() / 1000);
    return jsonResponse({ created, data: await makeImages(plan, { call, services }) });
  }
  return jsonResponse({ code: 200, data: [{ status: "submitted", task_id: task.id }] });
}

/** Sides, or a ratio whose image has about a megapixel. */
function readSize(size = "1024x1024"): PixelSize {
  if (size === "auto") return { width: 1024, height: 1024 };
  const [, width, by, height] = /^(\d{1,5})([x:])(\d{1,5})$/.exec(size) ?? [];
  const sides = { width: Number(width), height: Number(height) };
  const ratio = sides.width / sides.height;
  if (!(ratio >= 1 / 3 && ratio <= 3)) {
    throw new Refusal({ code, message: `Unsupported size: ${size}`, param: "size" });
  }
  if (by === "x") return sides;
  return {
    width: Math.round((1024 * Math.sqrt(ratio)) / 16) * 16,
    height: Math.round(1024 / Math.sqrt(ratio) / 16) * 16,
  };
}

const states: Readonly<Record<TaskState, string>> = {
  queued: "pending",
  running: "processing",
  succeeded: "completed",
  failed: "failed",
  moderation: "failed",
  "request-moderation": "failed",
  canceled: "failed",
  lost: "failed",
};

/** `GET /v1/tasks/{id}`. A task that failed is a 200 too. */
async function getTask(call: ProviderCall, services: Services): Promise<Response> {
  const { id = "" } = call.params;
  const task = services.tasks.find("relay", id);
  if (task === undefined)
    throw new Refusal({ code: "model_not_found", message: "task does not exist or has expired" });
  const state = task.poll();
  const shared = { id, status: states[state], created: Math.floor(task.submittedAt / 1000) };
  if (state === "queued" || state === "running") {
    return jsonResponse({ code: 200, data: { ...shared, progress: 0, estimated_time: 60 } });
  }
  if (state === "succeeded") {
    return jsonResponse({ code: 200, data: { ...shared, progress: 100, ...(await task.result(call)) } });
  }
  const { code: name, message } = task.fault.task ?? {};
  const type = name ?? (state === "failed" ? "server_error" : "content_policy_violation");
  const error = { code: type, message: message ?? relayErrors[type]?.message ?? type, type };
  return jsonResponse({ code: 200, data: { ...shared, progress: 100, error } });
}
