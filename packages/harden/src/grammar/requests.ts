import { type Bytes, drawCuts, fromBytes, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";
import { mutateJson, toJson, writeJson } from "./json-text.ts";

/** A request as JSON. `$CALLER_KEY` in headers and body is replaced when it is sent. */
export interface RequestInput {
  /** The function of the gateway that gets the request. */
  readonly via: "fetch" | "handle";
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Bytes | null;
  /** Where the body is cut into chunks. */
  readonly cuts: readonly number[];
  /** How the body ends: completely, with an error of the host, with an error because the client disconnected, or never. */
  readonly ending: "whole" | "fails" | "aborts" | "stalls";
  /** Whether the client reads the whole response, or disconnects after its first chunk. */
  readonly reader: "reads" | "leaves";
  /** True for a request that must get images. */
  readonly isValid: boolean;
  /** Fields that the call to the provider must have, with these values. */
  readonly forwards?: Readonly<Record<string, unknown>> | undefined;
}

export const SEEDREAM = "seedream-4-0-250828";
export const SEEDREAM_2 = "seedream-4-5-251128";
export const QWEN_IMAGE = "image-2.0";
export const QWEN_IMAGE_EDIT = "image-edit-plus";
/** A model that makes one image per call. */
export const QWEN_IMAGE_MAX = "image-max";
export const GENERATIONS = "/v1/images/generations";
export const EDITS = "/v1/images/edits";
export const NATIVE = "/api/v3/images/generations";

/** A valid request with a JSON body. */
export function createJsonRequest(fields: object, path: string = GENERATIONS): RequestInput {
  return {
    via: "handle",
    method: "POST",
    path,
    headers: [
      ["authorization", "Bearer $CALLER_KEY"],
      ["content-type", "application/json"],
    ],
    body: { text: JSON.stringify(fields) },
    cuts: [],
    ending: "whole",
    reader: "reads",
    isValid: true,
  };
}

/** A request with a JSON body: half of them valid, the others changed in structure, in bytes or in the head. */
export function drawJsonRequest(random: Random): RequestInput {
  const { path, body, forwards } = drawValidBody(random);
  const valid: RequestInput = {
    ...createJsonRequest(body, path),
    via: pick(random, ["fetch", "handle"]),
    reader: chance(random, 0.95) ? "reads" : "leaves",
    forwards,
  };
  if (chance(random, 0.3)) return { ...valid, cuts: drawCuts(random, JSON.stringify(body).length) };
  return spoil(random, valid, body);
}

/** Changes a valid request in its structure, bytes or head. */
function spoil(random: Random, valid: RequestInput, body: unknown): RequestInput {
  const json = toJson(body);
  const text = writeJson(chance(random, 0.85) ? mutateJson(random, json) : json);
  const bytes = chance(random, 0.15) ? mutateBytes(random, Buffer.from(text)) : Buffer.from(text);
  const isHeadSpoiled = chance(random, 0.2);
  return {
    ...valid,
    isValid: false,
    forwards: undefined,
    ...(isHeadSpoiled && spoilHead(random, valid)),
    body: chance(random, 0.99) ? toBytes(bytes) : null,
    cuts: drawCuts(random, bytes.length),
    ending: chance(random, 0.97) ? "whole" : pick(random, ["fails", "aborts", "stalls"]),
  };
}

const METHODS = ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "post", "POST ", "PROPFIND", "POST"];
const PATHS = [
  GENERATIONS,
  EDITS,
  NATIVE,
  `${GENERATIONS}/`,
  "//v1//images/generations",
  `${GENERATIONS}?a=b`,
  `${GENERATIONS}#x`,
  "/V1/images/generations",
  "/v1/images/generations%00",
  "/v1/images/%67enerations",
  "/v1/images",
  "/v1/images/",
  "/v1/models",
  "/v1/models/seedream-4-0-250828",
  "/v1/models/a%2Fb%00%zz",
  "/api/v1/services/aigc/multimodal-generation/generation",
  "/v1/images/variations",
  "/x/v1/images/generations",
  "/",
  "",
  "*",
  "http://other.example/v1/images/generations",
  "/v1/images/generations/../edits",
  "/api/v3/images/generations?x=1",
  "/api/v3/images",
  "/v1/images/tasks/1",
  "/healthz",
];
const HEADERS: readonly (readonly [string, string])[] = [
  ["authorization", ""],
  ["authorization", "Bearer"],
  ["authorization", "Bearer wrong"],
  ["authorization", "bearer $CALLER_KEY"],
  ["authorization", "Basic $CALLER_KEY"],
  ["authorization", "Bearer  $CALLER_KEY "],
  ["api-key", "$CALLER_KEY"],
  ["api-key", "wrong"],
  ["content-type", "application/json; charset=utf-8"],
  ["content-type", "application/json; charset=latin1"],
  ["content-type", "text/plain"],
  ["content-type", "multipart/form-data"],
  ["content-type", "multipart/form-data; boundary="],
  ["content-type", "application/x-www-form-urlencoded"],
  ["content-type", ""],
  ["content-type", "application/JSON;"],
  ["content-type", "application/vnd.api+json"],
  ["content-length", "0"],
  ["content-length", "1"],
  ["content-length", "-1"],
  ["content-length", "1e3"],
  ["content-length", "99999999999"],
  ["content-length", "9".repeat(40)],
  ["content-encoding", "gzip"],
  ["content-encoding", "identity"],
  ["content-encoding", "br"],
  ["transfer-encoding", "chunked"],
  ["expect", "100-continue"],
  ["idempotency-key", "a"],
  ["idempotency-key", "$CALLER_KEY"],
  ["idempotency-key", "k".repeat(300)],
  ["idempotency-key", "ключ"],
  ["idempotency-key", ""],
  ["prefer", "respond-async"],
  ["prefer", "wait=5"],
  ["origin", "https://page.example"],
  ["origin", "null"],
  ["accept", "text/event-stream"],
  ["accept-encoding", "gzip"],
  ["x-calotype-tags", "a=b"],
  ["x-calotype-tags", "a=b,".repeat(50)],
  ["x-request-id", "mine"],
  ["traceparent", "00-0-0-00"],
  ["cookie", "a=$CALLER_KEY"],
  ["x-forwarded-for", "127.0.0.1"],
  ["upgrade", "h2c"],
  ["range", "bytes=0-1"],
];

function spoilHead(random: Random, valid: RequestInput): Partial<RequestInput> {
  const kind = random();
  if (kind < 0.15) return { method: pick(random, METHODS) };
  if (kind < 0.35) return { path: pick(random, PATHS) };
  const added = Array.from({ length: drawInt(random, 1, 3) }, () => pick(random, HEADERS));
  const names = new Set(added.map(([name]) => name));
  const kept = valid.headers.filter(([name]) => !names.has(name) && chance(random, 0.95));
  return { headers: [...kept, ...added] };
}

/** 1 x 1 pixels. */
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const REFERENCES = [PNG, "https://images.example/a.png", "http://images.example/b.jpg?x=1"];
const PROMPTS = [
  "a red fox",
  "一只橘猫，三张",
  "x",
  'a\nb\t"c"',
  "😀".repeat(20),
  "Wind. ".repeat(300),
  "é \u2028 ü",
];

interface ValidBody {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly forwards?: RequestInput["forwards"];
}

/** A body that the interface allows, its path, and the fields that are forwarded as sent. */
function drawValidBody(random: Random): ValidBody {
  const kind = random();
  if (kind < 0.4) {
    const body = drawSeedream(random);
    const { model: _model, n: _n, user: _user, ...forwards } = body;
    return { path: GENERATIONS, body, forwards };
  }
  if (kind < 0.65) {
    const body = drawNative(random);
    const { model: _model, ...forwards } = body;
    return { path: NATIVE, body, forwards };
  }
  if (kind < 0.9) return { path: GENERATIONS, body: drawQwenImage(random) };
  return { path: GENERATIONS, body: drawShorthand(random) };
}

function drawSeedream(random: Random): Record<string, unknown> {
  return {
    model: pick(random, [SEEDREAM, SEEDREAM_2]),
    prompt: pick(random, PROMPTS),
    ...maybe(random, "n", drawInt(random, 0, 10)),
    ...drawCommon(random),
    ...maybe(random, "user", "user-1"),
  };
}

function drawNative(random: Random): Record<string, unknown> {
  return {
    model: pick(random, [SEEDREAM, SEEDREAM_2]),
    prompt: pick(random, PROMPTS),
    ...drawCommon(random),
    ...maybe(random, "unknown_field", { a: [1, null, "x"] }),
  };
}

function drawCommon(random: Random): Record<string, unknown> {
  const references = Array.from({ length: drawInt(random, 1, 4) }, () => pick(random, REFERENCES));
  return {
    ...maybe(random, "size", pick(random, ["2K", "4K", "2048x2048"])),
    ...maybe(random, "response_format", pick(random, ["url", "b64_json"])),
    ...maybe(random, "watermark", chance(random, 0.5)),
    ...maybe(random, "seed", drawInt(random, -1, 1_000)),
    ...maybe(random, "stream", chance(random, 0.6)),
    ...(chance(random, 0.3) && { image: chance(random, 0.3) ? references[0] : references }),
    ...(chance(random, 0.3) && {
      sequential_image_generation: pick(random, ["auto", "disabled"]),
      sequential_image_generation_options: { max_images: drawInt(random, 1, 10) },
    }),
  };
}

function drawQwenImage(random: Random): Record<string, unknown> {
  const isEdit = chance(random, 0.4);
  const images = Array.from({ length: isEdit ? drawInt(random, 1, 3) : 0 }, () => ({
    image: pick(random, REFERENCES),
  }));
  return {
    model: isEdit ? QWEN_IMAGE_EDIT : QWEN_IMAGE,
    prompt: "placeholder",
    input: { messages: [{ role: "user", content: [...images, { text: pick(random, PROMPTS) }] }] },
    ...maybe(random, "parameters", {
      ...maybe(random, "size", pick(random, ["1024*1024", "1328*1328"])),
      ...maybe(random, "n", drawInt(random, 1, 4)),
      ...maybe(random, "watermark", true),
      ...maybe(random, "prompt_extend", false),
      ...maybe(random, "negative_prompt", "blurred"),
    }),
    ...maybe(random, "response_format", "url"),
  };
}

function drawShorthand(random: Random): Record<string, unknown> {
  return {
    model: QWEN_IMAGE,
    prompt: pick(random, PROMPTS),
    ...maybe(random, "n", drawInt(random, 1, 4)),
    ...maybe(random, "size", pick(random, ["1024x1024", "1328x1328"])),
    ...maybe(random, "response_format", "url"),
  };
}

/** The field in four of ten bodies. */
function maybe(random: Random, key: string, value: unknown): Record<string, unknown> {
  return chance(random, 0.4) ? { [key]: value } : {};
}

/** The same request with other cuts and, in JSON, other white space. `undefined`: the result could differ. */
export function drawVariant(random: Random, input: RequestInput): RequestInput | undefined {
  const { body, ending, reader, headers } = input;
  if (body === null || ending !== "whole" || reader !== "reads") return undefined;
  // A second request with an idempotency key is a repeat, and a content-length would be wrong.
  if (headers.some(([name]) => name === "idempotency-key" || name === "content-length")) return undefined;
  const text = "text" in body ? addSpaces(random, body.text) : undefined;
  const changed: Bytes = text === undefined ? body : { text };
  return { ...input, body: changed, cuts: drawCuts(random, fromBytes(changed).length) };
}

/** Adds white space around the punctuation of JSON. `undefined`: the text is not JSON. */
function addSpaces(random: Random, text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // Strings are matched as a whole, so that punctuation in them does not change.
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]/g, (match) => {
    return match.startsWith('"') || !chance(random, 0.3)
      ? match
      : `${pick(random, [" ", "\n", "\t", "\r\n"])}${match} `;
  });
}
