import { isDeepStrictEqual } from "node:util";
import { isGatewayError } from "@calotype/core";
import {
  applyImageCount,
  checkSize,
  createUploadedImage,
  type Family,
  type NormalizeContext,
  qwenImage,
  seedream,
  toJsonBody,
  toReferenceImage,
} from "@calotype/core/families";
import { type Broken, createFunctionPart, deepFreeze, type FunctionCheck } from "../function-part.ts";
import { cutAt, drawCuts } from "../grammar/bytes.ts";
import { chance, drawInt, drawSize, pick, type Random } from "../grammar/draw.ts";
import {
  drawFieldsCase,
  drawReference,
  drawSizeCase,
  type FieldsCase,
  type SizeCase,
} from "../grammar/fields.ts";
import { shrinkJson } from "../grammar/json-text.ts";
import {
  drawEvents,
  drawFailure,
  drawSuccess,
  type ProviderBody,
  type ProviderEvents,
} from "../grammar/provider-bodies.ts";
import { toRecord } from "../to-record.ts";
import { expectQwenResult, expectSeedreamResult, expectStreamResult } from "./families/expect-response.ts";
import { expectBatch, expectSeedream } from "./families/expect-seedream.ts";
import { expectReference, isAllowedSize } from "./families/expect-values.ts";

/** The adapters and the functions that they share. Tests replace them with broken ones. */
export interface FamilyFunctions {
  readonly families: Readonly<Record<FieldsCase["family"], Family>>;
  readonly applyImageCount: typeof applyImageCount;
  readonly toJsonBody: typeof toJsonBody;
  readonly checkSize: typeof checkSize;
  toReferenceImage(value: string, param: string, mediaTypes: ReadonlySet<string>): string;
}

const UPSTREAM_MODEL = "ep-20251128-abcde";
const MAX_MESSAGE = 1_000;

export function createFamilyChecks(functions: FamilyFunctions): readonly FunctionCheck[] {
  return [
    createRequestCheck(functions.families),
    createSuccessCheck(functions.families),
    createFailureCheck(functions.families),
    createEventsCheck(functions.families),
    createCountCheck(functions),
    createUploadCheck(functions),
    createSizeCheck(functions),
    createReferenceCheck(functions),
  ];
}

type Families = FamilyFunctions["families"];
type ImageRequest = ReturnType<Family["normalize"]>;

/** `normalize` and `toUpstream`: what a client sends, and what the provider gets. */
const createRequestCheck = (families: Families): FunctionCheck<FieldsCase> => ({
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

/** `fromUpstream` and `responseShape`: what a client gets of a success. */
const createSuccessCheck = (families: Families): FunctionCheck<ProviderBody> => ({
  name: "a success",
  weight: 2,
  draw: drawSuccess,
  findBroken({ family, body }) {
    const expected = family === "seedream" ? expectSeedreamResult(body) : expectQwenResult(body);
    const result = families[family].fromUpstream(body, REQUEST);
    const { images, errors, failure, usage } = result;
    if (!isDeepStrictEqual({ images, errors, failure, usage }, expected))
      return { rule: "a success gives the images, errors and counts of its body", seen: [result, expected] };
    return findBrokenShape(families[family], body, result);
  },
  shrink: shrinkBody,
});

/** `toFailure`: what an error of a provider means. */
const createFailureCheck = (families: Families): FunctionCheck<ProviderBody> => ({
  name: "a failure",
  draw: drawFailure,
  findBroken(input) {
    const { family, status, body } = input;
    const failure = families[family].toFailure(status, body);
    const rule = findBrokenFailure(families, input, failure);
    return rule === undefined ? undefined : { rule, seen: failure };
  },
  shrink: shrinkBody,
});

/** `readStream`: what the events of a stream make and use. */
const createEventsCheck = (families: Families): FunctionCheck<ProviderEvents> => ({
  name: "a stream",
  draw: drawEvents,
  findBroken(input) {
    const reader = families.seedream.readStream?.({ ...REQUEST, upstreamFields: { size: input.size } });
    if (reader === undefined) return { rule: "Seedream reads streams" };
    let wasOver = false;
    for (const event of input.events) {
      reader.read(event);
      if (wasOver && reader.isOver !== true) return { rule: "a stream that is over stays over", seen: event };
      wasOver = reader.isOver === true;
    }
    const { images, usage, failure, imageFailure } = reader.result();
    const reason = failure && { code: failure.code, message: failure.message };
    const result = { images, usage, isOver: wasOver, failure: reason, imageFailure };
    return isDeepStrictEqual(result, expectStreamResult(input))
      ? undefined
      : {
          rule: "a stream gives the images, counts and failure of its events",
          seen: [result, expectStreamResult(input)],
        };
  },
  *shrink(input) {
    for (const index of input.events.keys()) yield { ...input, events: input.events.toSpliced(index, 1) };
  },
});

/** `checkSize`: the sizes that a model takes. */
const createSizeCheck = (functions: FamilyFunctions): FunctionCheck<SizeCase> => ({
  name: "a size",
  draw: drawSizeCase,
  findBroken({ size, limits, separator }) {
    const isTaken = isAccepted(() => functions.checkSize(size, limits, { separator, param: "size" }));
    return isTaken === isAllowedSize(size, limits, separator)
      ? undefined
      : { rule: "a size is taken if and only if the limits allow it", seen: isTaken };
  },
});

const MEDIA_TYPES = new Set(["image/png", "image/jpeg", "image/webp"]);

/** `toReferenceImage`: links and data URLs. */
const createReferenceCheck = (functions: FamilyFunctions): FunctionCheck<{ readonly value: string }> => ({
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

interface CountCase {
  readonly n: number | null;
  readonly mode: "auto" | "disabled" | null;
  readonly options: Readonly<Record<string, unknown>> | null;
}

/** `applyImageCount`: the rule for `n`. */
const createCountCheck = (functions: FamilyFunctions): FunctionCheck<CountCase> => ({
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

interface UploadCase {
  /** The bytes of each image, by a seed of their own. */
  readonly images: readonly {
    readonly length: number;
    readonly byte: number;
    readonly cuts: readonly number[];
  }[];
  readonly prompt: string;
}

/** `toJsonBody`: images that are uploads become data URLs. */
const createUploadCheck = (functions: FamilyFunctions): FunctionCheck<UploadCase> => ({
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

/** The family adapters alone. */
export const familyAdapters = createFunctionPart(
  {
    name: "families",
    guarantees:
      "Calls the adapters of both families, the rules for `n`, sizes and reference images, and `toJsonBody` with fields " +
      "and provider bodies that are valid or changed in structure, types, numbers and strings. A request is forwarded as a model of the interface " +
      "says, whatever the order of its fields, or refused with a 400 that names the field; what is forwarded, sent as a " +
      "request itself, stays the same. Images, errors, counts and failures of responses and events equal those of a " +
      "model, buffered or streamed. No function changes its input. An input is one set of fields, one body, one list of " +
      "events or one list of uploads.",
    weight: 1,
  },
  createFamilyChecks({
    families: { seedream, "qwen-image": qwenImage },
    applyImageCount,
    toJsonBody,
    checkSize,
    toReferenceImage,
  }),
);

/** A request for calls that need one. */
const REQUEST: ImageRequest = deepFreeze({
  operation: "generate",
  model: "seedream-4-0-250828",
  prompt: "x",
  images: [],
  maxImages: 1,
  responseFormat: "url",
  stream: false,
  upstreamFields: {},
  ignored: [],
});

type Normalized = { readonly request: ImageRequest | undefined } | { readonly broken: Broken };

function isRefusal(error: unknown): boolean {
  return (
    isGatewayError(error) &&
    error.code === "invalid_request_error" &&
    error.status === 400 &&
    typeof error.param === "string" &&
    error.message.length <= MAX_MESSAGE
  );
}

/** The request; `undefined` if it was refused as documented. */
function normalize(families: Families, input: FieldsCase): Normalized {
  const family = families[input.family];
  const context: NormalizeContext = {
    operation: input.operation,
    model: input.model,
    upstreamModels: [UPSTREAM_MODEL],
    limits: family.findLimits?.(input.model),
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

function findBrokenSeedream(input: FieldsCase, request: ImageRequest | undefined): string | undefined {
  const expected = expectSeedream(input, seedream.findLimits?.(input.model));
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

function sortIgnored(request: ImageRequest | undefined): unknown {
  return request && { ...request, ignored: request.ignored.toSorted() };
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
  const sent: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  const written: unknown = JSON.parse(JSON.stringify({ model: UPSTREAM_MODEL, ...upstreamFields }));
  if (!isAlike(sent, written)) return "a call carries the fields as JSON";
  const again = normalize(
    families,
    deepFreeze({ ...input, fields: { prompt: request.prompt, ...upstreamFields } }),
  );
  if (!("request" in again) || again.request === undefined)
    return "what is forwarded is a valid request itself";
  return isAlike(again.request.upstreamFields, upstreamFields) && isAlike(again.request.images, images)
    ? undefined
    : "what is forwarded stays the same as a request itself";
}

/** A large response is read by `responseShape` as it arrives: with the same result as the buffered one. */
function findBrokenShape(
  { responseShape: shape }: Family,
  body: ProviderBody["body"],
  result: ReturnType<Family["fromUpstream"]>,
): Broken | undefined {
  if (shape === undefined) return undefined;
  const value: unknown = body[shape.items];
  const items = (Array.isArray(value) ? value : []).map((item: unknown, index) =>
    shape.readItem(item, index),
  );
  const streamed = {
    images: items.filter((item) => item === "image").length,
    errors: items.filter((item) => item !== "image"),
    usage: shape.readUsage(body[shape.usage]),
    failure: shape.readFailure(body[shape.failure]),
    created: shape.readCreated(body[shape.created]),
  };
  const { images, errors, usage, failure, created } = result;
  return isDeepStrictEqual(streamed, { images: images.length, errors, usage, failure, created })
    ? undefined
    : { rule: "a response that is read as it arrives gives the same result", seen: [streamed, result] };
}

const KINDS = new Set(["content", "model", "credential", "rate", "quota", "overload", "server"]);
const SCOPES = new Set([undefined, "request", "model", "key", "channel"]);
/** What a 429 may mean. */
const KINDS_OF_429 = new Set(["rate", "quota", "credential", "model"]);

function findBrokenFailure(
  families: Families,
  { family, status, body }: ProviderBody,
  failure: ReturnType<Family["toFailure"]>,
): string | undefined {
  const { kind, scope, code, message } = failure;
  if (!KINDS.has(kind) || !SCOPES.has(scope)) return "a failure has a documented kind and scope";
  const details = toRecord(family === "seedream" ? body["error"] : body);
  if (code !== readWord(details["code"])) return "a failure has the provider's code";
  if (message !== readWord(details["message"])) return "a failure has the provider's message";
  const toFailure = (toStatus: number, toCode: unknown): ReturnType<Family["toFailure"]> => {
    const changed = { ...details, code: toCode };
    return families[family].toFailure(toStatus, family === "seedream" ? { error: changed } : changed);
  };
  const byStatus = families[family].toFailure(status, undefined);
  const unknown = toFailure(status, "NoSuchCode");
  if (unknown.kind !== byStatus.kind || unknown.scope !== byStatus.scope)
    return "an unknown code leaves the kind to the status";
  if (status === 429 && !KINDS_OF_429.has(kind)) return "a 429 is a limit, or is our account's or model's";
  const [atTeapot, atConflict] = [toFailure(418, code), toFailure(409, code)];
  return atTeapot.kind === atConflict.kind && atTeapot.scope === atConflict.scope
    ? undefined
    : "a code means the same with every status of a refused request";
}

/** A string that is not empty. */
function readWord(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function* shrinkBody(input: ProviderBody): Iterable<ProviderBody> {
  for (const body of shrinkJson(input.body)) yield { ...input, body: toRecord(body) };
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
