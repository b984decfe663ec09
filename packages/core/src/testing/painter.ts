import { invalidRequest } from "../errors.js";
import type { Family, NormalizeContext } from "../families/family.js";
import { isReferenceImage } from "../families/shared.js";
import type { UpstreamCall } from "../families/upstream-call.js";
import { toBase64 } from "../images/reference-image.js";
import type { ImageRequest, ImageResult, Usage } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

/**
 * A family that uses what the two built-in ones do not: a key in its own header, forms, GET with a query, masks, base64
 * only, images as bytes, failures with a kind and a delay. Its provider does not exist.
 *
 * - `generate` sends JSON; a prompt of `again` sends GET.
 * - `edit` sends a form; with the dialect `inline` JSON with plain base64.
 */
export const painter: Family = {
  name: "painter",
  defaultBaseUrl: "https://painter.test/v1",
  operations: new Set(["generate", "edit"]),
  authorize: (key) => ({ "x-key": key }),
  requestIdHeader: "x-painter-id",
  delivers: ["b64_json"],
  reportsTokens: true,
  takesImageBytes: true,
  fields: { n: "number", strength: "number", stream: "boolean", mask: "image", markup: "image" },
  dialects: {
    inline: { toUpstream: toInline },
    links: { delivers: ["url", "b64_json"] },
    plain: { toUpstream: toPlain },
  },
  normalize,
  needsImageBytes: ({ images }) => images.length > 0,
  toUpstream: toPainter,
  fromUpstream: fromPainter,
  toFailure: ({ status, headers, body }) => ({
    kind: status === 429 ? "rate" : status === 503 ? "overload" : status === 400 ? "content" : "server",
    code: typeof body?.["reason"] === "string" ? body["reason"] : undefined,
    retryAfterSeconds: headers.get("x-wait") === null ? undefined : Number(headers.get("x-wait")),
  }),
};

function normalize(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { prompt, image, mask, markup, n, response_format: format, ...rest } = fields;
  return {
    operation: context.operation,
    model: context.model,
    prompt: typeof prompt === "string" ? prompt : "",
    images: [image].flat().filter(isReferenceImage),
    ...(isReferenceImage(mask) && { mask }),
    ...(isReferenceImage(markup) && { markup }),
    maxImages: typeof n === "number" ? n : 1,
    maxTokensPerImage: 1_000,
    maxInputTokens: 500,
    responseFormat:
      format === "url" || format === "b64_json"
        ? format
        : (context.defaultResponseFormat ?? context.ownResponseFormat ?? "b64_json"),
    stream: false,
    upstreamFields: { prompt, ...rest },
    ignored: [],
  };
}

function toPainter(
  { images, mask, markup, prompt, upstreamFields }: ImageRequest,
  model: string,
): UpstreamCall {
  if (prompt === "again") return { method: "GET", path: `/models/${model}`, query: { prompt } };
  if (images.length === 0) return { path: `/models/${model}`, body: { json: upstreamFields } };
  const files = [
    ...images.map((file) => ({ name: "image[]", file })),
    ...(mask === undefined ? [] : [{ name: "mask", file: mask }]),
    ...(markup === undefined ? [] : [{ name: "markup", file: markup }]),
  ];
  const values = Object.entries(upstreamFields).map(([name, value]) => ({ name, value: String(value) }));
  return { path: `/models/${model}/edits`, body: { form: [...values, ...files] } };
}

/** The dialect that takes images as base64 in JSON. */
function toInline({ images, upstreamFields }: ImageRequest, model: string): UpstreamCall {
  const inline = images.map((image) => ({ data: toBase64(image) }));
  return {
    path: `/models/${model}`,
    headers: { "x-inline": "1" },
    body: { json: { ...upstreamFields, inline } },
  };
}

/** The dialect that takes no masks. */
function toPlain(request: ImageRequest, model: string): UpstreamCall {
  if (request.mask !== undefined) throw invalidRequest("mask is not supported by this service.", "mask");
  return toPainter(request, model);
}

/** `{"pictures":[base64 or link],"refused":{"why","what"},"tokens":{…},"dollars":"0.02"}` */
function fromPainter({ pictures, refused, tokens, dollars }: JsonObject): ImageResult {
  const images = (Array.isArray(pictures) ? pictures : []).map((picture) =>
    String(picture).startsWith("https:") ? { url: String(picture) } : { b64_json: String(picture) },
  );
  const reported: Usage = isJsonObject(tokens) ? tokens : {};
  return {
    images,
    errors: [],
    fields: {},
    usage: {
      generated_images: images.length,
      ...reported,
      ...(typeof dollars === "string" && { cost_usd: dollars }),
    },
    failure: isJsonObject(refused)
      ? {
          code: String(refused["why"]),
          message: `Refused: ${String(refused["why"])}`,
          kind:
            refused["what"] === "content" ? "content" : refused["what"] === "busy" ? "overload" : "server",
        }
      : undefined,
  };
}
