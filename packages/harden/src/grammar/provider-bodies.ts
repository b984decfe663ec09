import { chance, drawInt, pick, type Random } from "./draw.ts";
import { mutateFields } from "./json-text.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The JSON body and the HTTP status of an upstream response. */
export interface ProviderBody {
  readonly family: "seedream" | "qwen-image";
  readonly status: number;
  readonly body: Fields;
}

/** The events of a Seedream stream, and the requested size. */
export interface ProviderEvents {
  readonly size: unknown;
  readonly events: readonly { readonly event?: string; readonly data: string }[];
}

/** A successful body, changed in a few places in half of the cases. */
export function drawSuccess(random: Random): ProviderBody {
  const family = pick(random, ["seedream", "qwen-image"] as const);
  const body = family === "seedream" ? drawSeedreamBody(random) : drawQwenBody(random);
  return { family, status: 200, body: chance(random, 0.5) ? body : mutateFields(random, body) };
}

/** An error body of either family, changed in a few places in a third of the cases. */
export function drawFailure(random: Random): ProviderBody {
  const family = pick(random, ["seedream", "qwen-image"] as const);
  const details = {
    ...often(random, "code", () => drawCode(random)),
    ...often(random, "message", () => drawMessage(random)),
  };
  const body =
    family === "seedream"
      ? { error: { ...details, ...rarely(random, "param", () => "size"), type: "BadRequest" } }
      : { ...details, ...often(random, "request_id", () => drawId(random)) };
  const status = chance(random, 0.8) ? pick(random, STATUSES) : drawInt(random, 200, 599);
  return { family, status, body: chance(random, 0.67) ? body : mutateFields(random, body) };
}

export function drawEvents(random: Random): ProviderEvents {
  return {
    size: chance(random, 0.5) ? pick(random, ["2K", "4k", "2048x2048", "auto", 7, null]) : null,
    events: Array.from({ length: drawInt(random, 0, chance(random, 0.2) ? 20 : 7) }, () => drawEvent(random)),
  };
}

const STATUSES = [200, 400, 401, 402, 403, 404, 408, 409, 410, 413, 422, 429, 500, 502, 503, 504];

const CODES = [
  "InvalidParameter",
  "InvalidEndpointOrModel.NotFound",
  "InvalidEndpoint.ClosedEndpoint",
  "UnsupportedModel",
  "ModelNotOpen",
  "AuthenticationError",
  "AccountOverdueError",
  "AccessDenied",
  "ModelAccountRpmRateLimitExceeded",
  "AccountRateLimitExceeded",
  "QuotaExceeded",
  "ServerOverloaded",
  "InternalServiceError",
  "SensitiveContentDetected",
  "ModelNotFound",
  "InvalidApiKey",
  "Arrearage",
  "Throttling",
  "Throttling.RateQuota",
  "PrepaidBillOverdue",
  "ModelUnavailable",
  "InternalError",
  "DataInspectionFailed",
  "__proto__",
  "constructor",
  "",
];

function drawCode(random: Random): string {
  return chance(random, 0.9) ? pick(random, CODES) : `Code${drawInt(random, 0, 9_999)}`;
}

function drawId(random: Random): string {
  return drawInt(random, 0, 2 ** 31).toString(16);
}

function drawMessage(random: Random): string {
  return pick(random, [
    "",
    "No.",
    `Refused. Request id: ${drawId(random)}`,
    "拒绝",
    "x".repeat(drawInt(random, 1, 300)),
  ]);
}

function drawSeedreamBody(random: Random): Fields {
  const data = Array.from({ length: drawInt(random, 0, 6) }, () => drawItem(random));
  return {
    model: "ep-1",
    created: drawInt(random, 0, 2 ** 31),
    data,
    ...often(random, "usage", () => drawUsage(random)),
    ...rarely(random, "error", () => ({ code: drawCode(random), message: drawMessage(random) })),
    ...rarely(random, "tools", () => [drawInt(random, 0, 99)]),
  };
}

function drawItem(random: Random): unknown {
  const kind = random();
  if (kind < 0.7)
    return { url: `https://images.example/${drawInt(random, 0, 9_999)}.png`, size: drawSize(random) };
  if (kind < 0.8) return { b64_json: "QUJD".repeat(drawInt(random, 1, 20)), size: drawSize(random) };
  if (kind < 0.9) return { error: { code: drawCode(random), message: drawMessage(random) } };
  return pick<unknown>(random, [null, {}, { url: "" }, { url: 7 }, "x", [], { url: "", b64_json: "QQ==" }]);
}

function drawSize(random: Random): string {
  return `${drawInt(random, 1, 5_000)}x${drawInt(random, 1, 5_000)}`;
}

function drawUsage(random: Random): Fields {
  return {
    ...often(random, "generated_images", () => drawCount(random)),
    ...often(random, "output_tokens", () => drawCount(random)),
    ...often(random, "total_tokens", () => drawCount(random)),
  };
}

function drawCount(random: Random): unknown {
  return chance(random, 0.9)
    ? drawInt(random, 0, 200_000)
    : pick<unknown>(random, [-1, 1.5, "3", null, 2 ** 53, 1e300, {}]);
}

function drawQwenBody(random: Random): Fields {
  const choices = Array.from({ length: drawInt(random, 0, 3) }, () => ({
    finish_reason: "stop",
    message: { role: "assistant", content: drawContent(random) },
  }));
  return {
    output: { choices },
    ...often(random, "request_id", () => drawId(random)),
    ...often(random, "usage", () => ({
      ...often(random, "image_count", () => drawCount(random)),
      ...rarely(random, "output_image_count", () => drawCount(random)),
      width: drawInt(random, 1, 5_000),
    })),
    ...rarely(random, "code", () => pick(random, ["Success", "success", "DataInspectionFailed", "", 7])),
    ...rarely(random, "message", () => drawMessage(random)),
  };
}

function drawContent(random: Random): unknown[] {
  return Array.from({ length: drawInt(random, 0, 4) }, () => {
    const kind = random();
    if (kind < 0.8) return { image: `https://images.example/${drawInt(random, 0, 9_999)}.png` };
    return kind < 0.9
      ? { text: drawMessage(random) }
      : pick<unknown>(random, [null, { image: "" }, { image: 1 }, "x", []]);
  });
}

function drawEvent(random: Random): ProviderEvents["events"][number] {
  const kind = random();
  const type =
    kind < 0.5
      ? "image_generation.partial_succeeded"
      : pick(random, ["image_generation.completed", "image_generation.partial_failed", "error", "unknown"]);
  const fields = {
    ...often(random, "type", () => type),
    ...often(random, "image_index", () => (chance(random, 0.9) ? drawInt(random, 0, 9) : drawCount(random))),
    ...often(random, "size", () => drawSize(random)),
    ...(type === "image_generation.completed" && often(random, "usage", () => drawUsage(random))),
    ...(type.endsWith("failed") &&
      often(random, "error", () => ({ code: drawCode(random), message: drawMessage(random) }))),
    ...(type === "error" &&
      often(random, "error", () =>
        pick<unknown>(random, [{ code: drawCode(random) }, "broken", null, [], 0]),
      )),
  };
  const text = chance(random, 0.15) ? JSON.stringify(mutateFields(random, fields)) : JSON.stringify(fields);
  const data = chance(random, 0.95) ? text : pick(random, ["[DONE]", "", "null", "7", "{", "[]", '"x"']);
  return chance(random, 0.9) ? { event: type, data } : { data };
}

/** The field in nine of ten cases. */
function often(random: Random, name: string, draw: () => unknown): Fields {
  return chance(random, 0.9) ? { [name]: draw() } : {};
}

/** The field in one of ten cases. */
function rarely(random: Random, name: string, draw: () => unknown): Fields {
  return chance(random, 0.1) ? { [name]: draw() } : {};
}
