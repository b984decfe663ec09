import { isDeepStrictEqual } from "node:util";
import { isGatewayError } from "@calotype/core";
import {
  type applyImageCount,
  type checkSize,
  createUploadedImage,
  type Family,
  type NormalizeContext,
  seedream,
  type toJsonBody,
} from "@calotype/core/families";
import { type Broken, deepFreeze, type FunctionCheck } from "../../function-part.ts";
import { cutAt, drawCuts } from "../../grammar/bytes.ts";
import { chance, drawInt, drawSize, pick, type Random } from "../../grammar/draw.ts";
import {
  drawFieldsCase,
  drawReference,
  drawSizeCase,
  type FieldsCase,
  type SizeCase,
} from "../../grammar/fields.ts";
import { shrinkJson } from "../../grammar/json-text.ts";
import { toRecord } from "../../to-record.ts";
import { expectBatch, expectSeedream } from "./expect-seedream.ts";
import { expectReference, isAllowedSize } from "./expect-values.ts";

/** The adapters and the functions that they share. Tests replace them with broken ones. */
export interface FamilyFunctions {
  readonly families: Readonly<Record<FieldsCase["family"], Family>>;
  readonly applyImageCount: typeof applyImageCount;
  readonly toJsonBody: typeof toJsonBody;
  readonly checkSize: typeof checkSize;
  toReferenceImage(value: string, param: string, mediaTypes: ReadonlySet<string>): string;
}

export type Families = FamilyFunctions["families"];
type ImageRequest = ReturnType<Family["normalize"]>;

const UPSTREAM_MODEL = "ep-20251128-abcde";

const MAX_MESSAGE = 1_000;

const MEDIA_TYPES = new Set(["image/png", "image/jpeg", "image/webp"]);

interface CountCase {
  readonly n: number | null;
  readonly mode: "auto" | "disabled" | null;
  readonly options: Readonly<Record<string, unknown>> | null;
}

interface UploadCase {
  /** The bytes of each image, by a seed of their own. */
  readonly images: readonly {
    readonly length: number;
    readonly byte: number;
    readonly cuts: readonly number[];
  }[];
  readonly prompt: string;
}

/** `normalize` and `toUpstream`: what a client sends, and what the provider gets. */
export const createRequestCheck = (families: Families): FunctionCheck<FieldsCase> => ({
  name: "a request",
  weight: 4,
  draw: drawFieldsCase,
  findBroken(input) {
    const result = normalize(families, input);
    if ("broken" in result) return result.broken;
    const { request } = result;
    const rule =
      (input.family === "seedream" ? findBrokenSeedream(input, request) : undefined) ??
      findBrokenOrder(families, input, request) ??
      (request && findBrokenForwarding(families, input, request));
    return rule === undefined ? undefined : { rule, seen: result };
  },
  *shrink(input) {
    for (const fields of shrinkJson(input.fields)) yield { ...input, fields: toRecord(fields) };
  },
});

/** `applyImageCount`: the rule for `n`. */
export const createCountCheck = (functions: FamilyFunctions): FunctionCheck<CountCase> => ({
  name: "n",
  weight: 0.5,
  draw: (random) => ({
    n: chance(random, 0.9) ? drawInt(random, -5, 1_000_000) : null,
    mode: pick(random, ["auto", "disabled", null, null] as const),
    options: chance(random, 0.5)
      ? {
          ...(chance(random, 0.5) && { max_images: drawInt(random, 1, 99) }),
          ...(chance(random, 0.5) && { other: drawInt(random, 0, 9_999) }),
        }
      : null,
  }),
  findBroken({ n, mode, options }) {
    const explicit = {
      ...(mode !== null && { sequential_image_generation: mode }),
      ...(options !== null && { sequential_image_generation_options: options }),
    };
    const result = functions.applyImageCount(n ?? undefined, deepFreeze(explicit));
    const expected = expectBatch({ n, ...explicit });
    return isDeepStrictEqual(result, expected)
      ? undefined
      : { rule: "n above 1 asks for a batch, unless the client said otherwise", seen: [result, expected] };
  },
});

/** `checkSize`: the sizes that a model takes. */
export const createSizeCheck = (functions: FamilyFunctions): FunctionCheck<SizeCase> => ({
  name: "a size",
  draw: drawSizeCase,
  findBroken({ size, limits, separator }) {
    const isTaken = isAccepted(() => functions.checkSize(size, limits, { separator, param: "size" }));
    return isTaken === isAllowedSize(size, limits, separator)
      ? undefined
      : { rule: "a size is taken if and only if the limits allow it", seen: isTaken };
  },
});

/** `toReferenceImage`: links and data URLs. */
export const createReferenceCheck = (
  functions: FamilyFunctions,
): FunctionCheck<{ readonly value: string }> => ({
  name: "a reference image",
  draw: (random) => ({ value: drawReference(random) }),
  findBroken({ value }) {
    let image: unknown;
    isAccepted(() => {
      image = functions.toReferenceImage(value, "image", MEDIA_TYPES);
    });
    return image === expectReference(value, ["png", "jpeg", "webp"])
      ? undefined
      : { rule: "a link or a data URL is forwarded, and everything else is refused", seen: image };
  },
  *shrink({ value }) {
    for (const smaller of shrinkJson(value)) yield { value: String(smaller) };
  },
});

/** `toJsonBody`: images that are uploads become data URLs. */
export const createUploadCheck = (functions: FamilyFunctions): FunctionCheck<UploadCase> => ({
  name: "an upload",
  weight: 0.3,
  draw: drawUploads,
  async findBroken({ images, prompt }) {
    const contents = images.map(({ length, byte }) =>
      Buffer.alloc(length, Buffer.from([byte, byte ^ 0xff, 7])),
    );
    const uploads = contents.map((content, index) => {
      const chunks = (): Iterable<Uint8Array> => cutAt(content, images[index]?.cuts ?? []);
      return createUploadedImage("image/png", { byteLength: content.length, chunks, chunksSync: chunks });
    });
    const body = functions.toJsonBody({ prompt, image: uploads, again: uploads[0] });
    const urls = contents.map((content) => `data:image/png;base64,${content.toString("base64")}`);
    const expected = JSON.stringify({ prompt, image: urls, again: urls[0] });
    const written = typeof body === "string" ? [body, body] : [await readAll(body), await readAll(body)];
    if (written.some((text) => text !== expected))
      return { rule: "uploads become data URLs in place, each time they are written", seen: written };
    const length = typeof body === "string" ? body.length : body.byteLength;
    return length === Buffer.byteLength(expected)
      ? undefined
      : { rule: "a body has the length that it says", seen: length };
  },
});

type Normalized = { readonly request: ImageRequest | undefined } | { readonly broken: Broken };

/** The request; `undefined` if it was refused as documented. */
function normalize(families: Families, input: FieldsCase): Normalized {
  const family = families[input.family];
  const context: NormalizeContext = {
    operation: input.operation,
    model: input.model,
    upstreamModels: [UPSTREAM_MODEL],
    capabilities: family.findCapabilities?.(input.model),
    defaultResponseFormat: input.defaultResponseFormat,
  };
  try {
    return { request: family.normalize(input.fields, context) };
  } catch (error) {
    return isRefusal(error)
      ? { request: undefined }
      : { broken: { rule: "a request is refused with a 400 that names the field", seen: error } };
  }
}

/** False if the call refuses its arguments as documented. */
function isAccepted(call: () => unknown): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return (
    isGatewayError(error) &&
    error.code === "invalid_request_error" &&
    error.status === 400 &&
    typeof error.param === "string" &&
    error.message.length <= MAX_MESSAGE
  );
}

function findBrokenSeedream(input: FieldsCase, request: ImageRequest | undefined): string | undefined {
  const expected = expectSeedream(input, seedream.findCapabilities?.(input.model));
  if (expected === undefined) return request && "a request that the interface does not allow is refused";
  if (request === undefined) return "a request that the interface allows is taken";
  const { upstreamFields, images, responseFormat, stream, ignored } = request;
  const { maxImages = request.maxImages, ...others } = expected;
  const isSame = isAlike(
    { upstreamFields, images, responseFormat, stream, ignored, maxImages: request.maxImages },
    { ...others, maxImages },
  );
  return isSame ? undefined : "a request is forwarded as the interface says";
}

/** The same fields in another order, with the same result. */
function findBrokenOrder(
  families: Families,
  input: FieldsCase,
  request: ImageRequest | undefined,
): string | undefined {
  const reversed = deepFreeze({
    ...input,
    fields: Object.fromEntries(Object.entries(input.fields).toReversed()),
  });
  const other = normalize(families, reversed);
  const isSame = "request" in other && isAlike(sortIgnored(other.request), sortIgnored(request));
  return isSame ? undefined : "the order of fields changes nothing";
}

function findBrokenForwarding(
  families: Families,
  input: FieldsCase,
  request: ImageRequest,
): string | undefined {
  const { upstreamFields, maxImages, images } = request;
  if (!Number.isSafeInteger(maxImages) || maxImages < 1) return "a request makes at least one image";
  const { path, body } = families[input.family].toUpstream(request, UPSTREAM_MODEL);
  if (!path.startsWith("/")) return "a call has a path";
  const sent: unknown =
    typeof body === "object" && "json" in body ? JSON.parse(JSON.stringify(body.json)) : undefined;
  const written: unknown = JSON.parse(JSON.stringify({ model: UPSTREAM_MODEL, ...upstreamFields }));
  if (!isAlike(sent, written)) return "a call carries the fields as JSON";
  // With layers, a request may have no prompt.
  const prompt = request.prompt === "" ? {} : { prompt: request.prompt };
  const again = normalize(families, deepFreeze({ ...input, fields: { ...prompt, ...upstreamFields } }));
  if (!("request" in again) || again.request === undefined)
    return "what is forwarded is a valid request itself";
  return isAlike(again.request.upstreamFields, upstreamFields) && isAlike(again.request.images, images)
    ? undefined
    : "what is forwarded stays the same as a request itself";
}

function sortIgnored(request: ImageRequest | undefined): unknown {
  return request && { ...request, ignored: request.ignored.toSorted() };
}

/** True for equal values. A key `__proto__` may be left out: the schemas drop it, and no provider knows it. */
function isAlike(value: unknown, other: unknown): boolean {
  return isDeepStrictEqual(value, other) || isDeepStrictEqual(withoutProto(value), withoutProto(other));
}

function withoutProto(value: unknown): unknown {
  if (value === undefined) return undefined;
  const copy: unknown = JSON.parse(JSON.stringify(value), (key, field: unknown) =>
    key === "__proto__" ? undefined : field,
  );
  return copy;
}

function drawUploads(random: Random): UploadCase {
  return {
    images: Array.from({ length: drawInt(random, 1, 3) }, () => {
      const length = drawSize(random, 40, chance(random, 0.02) ? 60_000 : 2_000);
      return { length, byte: drawInt(random, 0, 255), cuts: drawCuts(random, length) };
    }),
    prompt: pick(random, ["x", 'a "b"', "图", "[0]", "$&"]),
  };
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}
