import type { FormPart } from "../../images/form-body.js";
import { isLink } from "../../images/reference-image.js";
import type { ImageRequest } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { UpstreamCall } from "../upstream-call.js";

/** The paths of OpenAI's API. */
export const PATHS = { generations: "/images/generations", edits: "/images/edits" } as const;

/**
 * The call of OpenAI's API: JSON, and for edits a form. Edits whose images are all links are JSON, so that nothing has to be
 * downloaded (`EditImageBodyJsonParam` of OpenAI's openapi.yaml, August 2026).
 */
export function toOpenai(request: ImageRequest, model: string): UpstreamCall {
  if (request.images.length === 0) return toGeneration(request, model);
  return hasLinksOnly(request) ? toJsonEdit(request, model) : toFormEdit(withModel(request, model));
}

/** True if the images of an edit are sent as files, so that links among them must be downloaded. */
export function needsFiles(request: ImageRequest): boolean {
  return request.images.length > 0 && !hasLinksOnly(request);
}

/** Of services that take edits as a form only. */
export function toOpenaiForms(request: ImageRequest, model: string): UpstreamCall {
  return request.images.length === 0 ? toGeneration(request, model) : toFormEdit(withModel(request, model));
}

const withModel = (request: ImageRequest, model: string): ImageRequest => ({
  ...request,
  upstreamFields: { model, ...request.upstreamFields },
});

/** The call for images without references. */
function toGeneration({ upstreamFields }: ImageRequest, model: string): UpstreamCall {
  return { path: PATHS.generations, body: { json: { model, ...upstreamFields } } };
}

/** JSON is not known to have a `markup`. */
function hasLinksOnly({ images, mask, markup }: ImageRequest): boolean {
  return markup === undefined && [...images, ...(mask === undefined ? [] : [mask])].every(isLink);
}

function toJsonEdit({ upstreamFields, images, mask }: ImageRequest, model: string): UpstreamCall {
  const json: JsonObject = {
    model,
    ...upstreamFields,
    images: images.map((image) => ({ image_url: image })),
    ...(mask !== undefined && { mask: { image_url: mask } }),
  };
  return { path: PATHS.edits, body: { json } };
}

/**
 * An edit as a form: one image is `image`, several are `image[]`, as the official client sends them.
 *
 * @param place the path and, for services with another name, the field of all images
 */
export function toFormEdit(
  { upstreamFields, images, mask, markup }: ImageRequest,
  {
    path = PATHS.edits,
    files = images.length === 1 ? "image" : "image[]",
  }: { readonly path?: string; readonly files?: string | undefined } = {},
): UpstreamCall {
  const form = [
    ...writeFields(upstreamFields),
    ...images.map((file) => ({ name: files, file })),
    ...(mask === undefined ? [] : [{ name: "mask", file: mask }]),
    ...(markup === undefined ? [] : [{ name: "markup", file: markup }]),
  ];
  return { path, body: { form } };
}

/** The fields as parts of a form. Members of an object have parts of their own: `svg[model]`. */
function writeFields(fields: JsonObject, toName = (key: string): string => key): readonly FormPart[] {
  return Object.entries(fields).flatMap(([key, value]) => writeField(toName(key), value));
}

function writeField(name: string, value: unknown): readonly FormPart[] {
  if (typeof value === "string") return [{ name, value }];
  if (Array.isArray(value)) return value.flatMap((item) => writeField(`${name}[]`, item));
  const text = JSON.stringify(value);
  // A number that keeps its spelling is an object whose JSON is that number.
  if (!isJsonObject(value) || !text.startsWith("{")) return [{ name, value: text }];
  return writeFields(value, (key) => `${name}[${key}]`);
}
