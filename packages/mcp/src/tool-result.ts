import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import * as z from "zod";
import { type CompleteResponse, type Json, parseResponse } from "./caller-gateway.js";

/** The result of a tool whose response is shown as it is: a list, or an error. */
export function toResult(response: CompleteResponse): CallToolResult {
  return response.status < 400 ? toTextResult(parseResponse(response)) : toErrorResult(response);
}

/**
 * The result of a tool that returns images, or a task that may have some: each image as a link or as image content, and then the
 * response as text, without the base64.
 */
export function toImageResult(response: CompleteResponse): CallToolResult {
  if (response.status >= 400) return toErrorResult(response);
  const body = parseResponse(response);
  const images = listImages(body).flatMap((image, index) => toContent(image, `image ${index + 1}`));
  return toTextResult(
    {
      request_id: response.headers["x-request-id"],
      charge: response.headers["x-calotype-charge"],
      ignored: response.headers["x-calotype-ignored"],
      ...withoutBase64(body),
    },
    images,
  );
}

/** The result of a call that the tool itself refuses, in the form of the gateway's errors. */
export function toRefusal(message: string, param: string): CallToolResult {
  return toErrorContent({ message, type: "invalid_request_error", code: "invalid_request_error", param });
}

const imageSchema = z.looseObject({ url: z.string().nullish(), b64_json: z.string().nullish() });
const imagesSchema = z.array(imageSchema);
type Image = z.infer<typeof imageSchema>;

const bodySchema = z.object({
  data: imagesSchema.optional(),
  images: imagesSchema.optional(),
  result: z.object({ data: imagesSchema.optional() }).optional(),
});

/** The images of a response, of a task that has ended, or of one in progress. */
export function listImages(body: Json): readonly Image[] {
  const { data, images, result } = bodySchema.parse(body);
  return result?.data ?? data ?? images ?? [];
}

function toContent({ url, b64_json: base64 }: Image, name: string): readonly ContentBlock[] {
  if (base64) return [{ type: "image", data: base64, mimeType: findMimeType(base64) }];
  return url ? [{ type: "resource_link", uri: url, name }] : [];
}

/** The first letters of an image in base64. */
const MIME_TYPES = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["UklGR", "image/webp"],
  ["R0lGOD", "image/gif"],
  ["PHN2Zy", "image/svg+xml"],
] as const;

function findMimeType(base64: string): string {
  const found = MIME_TYPES.find(([start]) => base64.startsWith(start));
  return found?.[1] ?? "image/png";
}

/** Writes an image in base64 as a data URL. */
export function toDataUrl(base64: string): string {
  return `data:${findMimeType(base64)};base64,${base64}`;
}

function withoutBase64(body: Json): Json {
  return parseObject(
    JSON.stringify(body, (name, value: unknown) => (name === "b64_json" ? undefined : value)),
  );
}

function parseObject(json: string): Json {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(json));
}

function toTextResult(object: Json, content: readonly ContentBlock[] = []): CallToolResult {
  const text = JSON.stringify(object);
  return { content: [...content, { type: "text", text }], structuredContent: parseObject(text) };
}

const errorSchema = z.object({ error: z.looseObject({ code: z.string(), message: z.string() }) });
type ErrorFields = z.infer<typeof errorSchema>["error"];

function toErrorResult({ headers, bytes }: CompleteResponse): CallToolResult {
  const { error } = errorSchema.parse(parseResponse({ bytes }));
  const retryAfter = headers["retry-after"];
  return toErrorContent({
    ...error,
    request_id: headers["x-request-id"],
    ...(retryAfter !== undefined && { retry_after_seconds: Number(retryAfter) }),
  });
}

function toErrorContent(error: ErrorFields): CallToolResult {
  const text = `${error.code}: ${error.message}`;
  return { ...toTextResult({ error }, [{ type: "text", text }]), isError: true };
}
