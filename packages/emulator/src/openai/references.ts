import { markReference } from "../drawing/mark-reference.js";
import type { FormFile } from "../http/read-form.js";
import { isJsonObject, type JsonObject } from "../json.js";
import type { ProviderCall } from "../provider-call.js";
import type { Fields } from "../read-fields.js";
import { BadReference, type ReferenceProblem } from "../references/bad-reference.js";
import { decodeImage, type LoadedReference } from "../references/decode-image.js";
import { downloadFor } from "../references/download.js";
import { loadReference, type ReferenceRules } from "../references/load-reference.js";
import type { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { invalidValue, openaiRefusal } from "./errors.js";
import type { OpenaiModel } from "./models.js";

const maxImages = 16;
const maxFileBytes = 50 * 1024 * 1024;
const maxMaskBytes = 4 * 1024 * 1024;
/** Of `image_url` in a JSON edit, in characters. */
const maxUrlLength = 20_971_520;

interface ReadingContext {
  readonly model: OpenaiModel;
  readonly call: ProviderCall;
  readonly services: Services;
}

/** The body of a form with an entry for each field that has files, so that unknown fields are found. */
export function nestImageFields({ body, files = [] }: ProviderCall): JsonObject {
  return { ...body, ...Object.fromEntries(files.map(({ name }) => [name, "a file"])) };
}

/** The images of an edit in the order they were sent. The first one shows the mask or the markup, if there is one. */
export async function readInputImages(
  fields: Fields,
  body: JsonObject,
  context: ReadingContext,
): Promise<LoadedReference[]> {
  const { model, call } = context;
  if (fields.has("mask") && fields.has("markup")) {
    throw invalidValue("markup", "'markup' cannot be used with 'mask'.");
  }
  if (fields.has("markup") && !model.hasMarkup) {
    throw openaiRefusal("unknown_parameter", "Unknown parameter: 'markup'.", "markup");
  }
  const images = await (call.files === undefined
    ? readJsonImages(body.images, context)
    : readFileImages(call.files));
  const [first, ...others] = images;
  if (first === undefined) {
    const name = call.files === undefined ? "images" : "image";
    throw openaiRefusal("missing_required_parameter", `Missing required parameter: '${name}'.`, name);
  }
  const overlay = fields.has("mask") ? "mask" : "markup";
  const source = await readOverlay(overlay, body, context);
  if (source === undefined) return images;
  checkOverlay(source, { name: overlay, first });
  return [{ ...first, thumbnail: await markReference(first.thumbnail, source.bytes, overlay) }, ...others];
}

async function readFileImages(files: readonly FormFile[]): Promise<LoadedReference[]> {
  const images = files.filter(({ name }) => name === "image" || name === "image[]");
  checkCount(images.length);
  return Promise.all(
    images.map(({ bytes, name }) => readImageBytes(bytes, { name, maxBytes: maxFileBytes })),
  );
}

async function readJsonImages(images: unknown, context: ReadingContext): Promise<LoadedReference[]> {
  if (images === undefined || images === null) return [];
  if (!Array.isArray(images))
    throw openaiRefusal("invalid_type", "Invalid type for 'images': expected an array.", "images");
  checkCount(images.length);
  const rules = rulesFor(context, maxFileBytes);
  return Promise.all(
    images.map(async (image: unknown, index) => {
      const name = `images[${index}]`;
      return withRefusal(name, async () =>
        checkType(await loadReference(readImageUrl(image, name), rules), name),
      );
    }),
  );
}

function readImageUrl(image: unknown, name: string): string {
  if (!isJsonObject(image))
    throw openaiRefusal("invalid_type", `Invalid type for '${name}': expected an object.`, name);
  const unknown = Object.keys(image).find((key) => key !== "image_url" && key !== "file_id");
  if (unknown !== undefined) {
    throw openaiRefusal(
      "unknown_parameter",
      `Unknown parameter: '${name}.${unknown}'.`,
      `${name}.${unknown}`,
    );
  }
  const { image_url: url, file_id: fileId } = image;
  if (typeof fileId === "string") throw invalidValue(`${name}.file_id`, `No such File object: ${fileId}`);
  if (typeof url !== "string") {
    throw openaiRefusal(
      "missing_required_parameter",
      `Missing required parameter: '${name}.image_url'.`,
      name,
    );
  }
  if (url.length <= maxUrlLength) return url;
  const message = `Invalid '${name}.image_url': string too long. Expected a string with maximum length ${maxUrlLength}.`;
  throw openaiRefusal("string_above_max_length", message, `${name}.image_url`);
}

function rulesFor({ call, services }: ReadingContext, maxBytes: number): ReferenceRules {
  return {
    maxBytes,
    needsLowerCaseMediaType: false,
    otherSchemes: [],
    download: downloadFor(call, services),
  };
}

interface Overlay extends LoadedReference {
  readonly bytes: Buffer;
}

/** The mask or the markup with its bytes. `undefined` if the request has none. */
async function readOverlay(
  name: "mask" | "markup",
  body: JsonObject,
  context: ReadingContext,
): Promise<Overlay | undefined> {
  const { files } = context.call;
  if (files !== undefined) {
    const file = files.find((candidate) => candidate.name === name);
    return file === undefined ? undefined : toOverlay(file.bytes, name);
  }
  if (body[name] === undefined || body[name] === null) return undefined;
  const url = readImageUrl(body[name], name);
  let bytes: Buffer | undefined;
  const rules = rulesFor(context, maxMaskBytes);
  await withRefusal(name, () => loadReference(url, { ...rules, onBytes: (loaded) => (bytes = loaded) }));
  // The emulator does not download from other machines. Nothing is known of such a mask.
  return bytes === undefined ? undefined : toOverlay(bytes, name);
}

async function toOverlay(bytes: Buffer, name: "mask" | "markup"): Promise<Overlay> {
  return { ...(await readImageBytes(bytes, { name, maxBytes: maxMaskBytes })), bytes };
}

/** A PNG with an alpha channel, of the size of the first image. */
function checkOverlay(
  { type, hasAlpha, width, height }: Overlay,
  { name, first }: { name: "mask" | "markup"; first: LoadedReference },
): void {
  if (type !== "png" || !hasAlpha) {
    throw openaiRefusal(
      "invalid_image_file",
      `Invalid ${name} image format - ${name} must be a PNG with an alpha channel.`,
      name,
    );
  }
  if (first.type !== undefined && (width !== first.width || height !== first.height)) {
    throw openaiRefusal(
      "invalid_image_file",
      `Invalid ${name} image format - ${name} size does not match image size.`,
      name,
    );
  }
}

async function readImageBytes(
  bytes: Buffer,
  { name, maxBytes }: { name: string; maxBytes: number },
): Promise<LoadedReference> {
  return withRefusal(name, async () => {
    if (bytes.byteLength >= maxBytes) throw new BadReference("too-large");
    return checkType(await decodeImage(bytes), name);
  });
}

function checkType(reference: LoadedReference, name: string): LoadedReference {
  const { type } = reference;
  if (type === undefined || type === "png" || type === "jpeg" || type === "webp") return reference;
  const message = `Invalid file '${name}': unsupported mimetype ('image/${type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`;
  throw openaiRefusal("invalid_image_file", message, name);
}

function checkCount(count: number): void {
  if (count > maxImages) {
    throw invalidValue(
      "image",
      `Invalid 'image': array too long. Expected an array with maximum length ${maxImages}, but got an array with length ${count} instead.`,
    );
  }
}

async function withRefusal<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof BadReference) throw refusalFor(error.problem, name);
    throw error;
  }
}

function refusalFor(problem: ReferenceProblem, name: string): Refusal {
  switch (problem) {
    case "empty":
    case "not-a-link":
    case "broken-base64":
      return invalidValue(name, `Invalid '${name}': expected a valid URL or a base64-encoded data URL.`);
    case "not-an-image":
      return openaiRefusal("invalid_image_file", undefined, name);
    case "too-large":
      return openaiRefusal("invalid_image_file", `The file '${name}' is too large.`, name);
    case "unreachable":
      return invalidValue(name, `Error while downloading the image of '${name}'.`);
  }
}
