import net from "node:net";
import { isDeepStrictEqual } from "node:util";
import { createGateway, type Gateway, GatewayError, isGatewayError } from "@calotype/core";
import type { GatewayRequest } from "@calotype/core/adapter";
import { type Family, qwenImage, seedream } from "@calotype/core/families";
import { findBrokenRule } from "../check-response.ts";
import { type Broken, createFunctionPart, type FunctionCheck } from "../function-part.ts";
import { drawFormBody, drawJsonBody, type FormBody, type JsonBody } from "../grammar/bodies.ts";
import { cutAt, fromBytes, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { NATIVE, QWEN_IMAGE, QWEN_IMAGE_EDIT, SEEDREAM, SEEDREAM_2 } from "../grammar/requests.ts";
import { toRecord } from "../to-record.ts";
import { isPublic } from "../watched-network.ts";
import { readJson } from "./normalizer/read-json.ts";

const FAMILIES: Readonly<Record<string, Family>> = {
  [SEEDREAM]: seedream,
  [SEEDREAM_2]: seedream,
  [QWEN_IMAGE]: qwenImage,
  [QWEN_IMAGE_EDIT]: qwenImage,
};
const JSON_TYPE = "application/json";
/** The status of a request that was understood: `beforeSend` refuses it. */
const UNDERSTOOD = 403;
const REFUSALS = new Set([400, 404, 413, 415]);

/** What the normalizer makes of a request. */
export interface Normalized {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The image request as JSON, with data URLs for uploads. Absent: the request was refused. */
  readonly request: string | undefined;
}

export type Normalize = (request: GatewayRequest) => Promise<Normalized>;

/** JSON bodies against `JSON.parse` and the families. */
const createJsonCheck = (normalizeBody: Normalize): FunctionCheck<JsonBody> => ({
  name: "a JSON body",
  weight: 6,
  draw: drawJsonBody,
  async findBroken(input) {
    const bytes = fromBytes(input.body);
    const result = await normalizeBody(toRequest(input, JSON_TYPE, cutAt(bytes, input.cuts)));
    const expected = expectRequest(input, bytes);
    const rule =
      findBrokenResult(result) ??
      (input.cuts.length === 0
        ? undefined
        : await findBrokenSplit(normalizeBody, result, toRequest(input, JSON_TYPE, [bytes]))) ??
      (expected === undefined || isSameJson(result.request, expected.request)
        ? undefined
        : "the image request is that of JSON.parse and the family") ??
      findBrokenNumber(result, bytes) ??
      (await findBrokenParsed(normalizeBody, input, result));
    return rule === undefined ? undefined : { rule, seen: { ...result, expected: expected?.request } };
  },
  *shrink(input) {
    if (input.cuts.length > 0) yield { ...input, cuts: [] };
    for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
  },
});

/** Forms: any split gives the same result, and the images of a valid one arrive. */
const createFormCheck = (normalizeBody: Normalize): FunctionCheck<FormBody> => ({
  name: "a form",
  draw: drawFormBody,
  async findBroken(input): Promise<Broken | undefined> {
    const bytes = fromBytes(input.body);
    const result = await normalizeBody(toRequest(input, input.contentType, cutAt(bytes, input.cuts)));
    const { images } = toRecord(JSON.parse(result.request ?? "{}"));
    const rule =
      findBrokenResult(result) ??
      (input.cuts.length === 0
        ? undefined
        : await findBrokenSplit(normalizeBody, result, toRequest(input, input.contentType, [bytes]))) ??
      (input.images === null || isDeepStrictEqual(images, input.images)
        ? undefined
        : "the images of a valid form keep their bytes and their order");
    return rule === undefined ? undefined : { rule, seen: result };
  },
  *shrink(input) {
    if (input.cuts.length > 0) yield { ...input, cuts: [] };
    if (input.images !== null) return;
    for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
  },
});

/** Tests pass a broken function. */
export function createNormalizerChecks(normalizeBody: Normalize): readonly FunctionCheck[] {
  return [createJsonCheck(normalizeBody), createFormCheck(normalizeBody)];
}

/** The request normalizer, with nothing behind it. */
export const normalizer = createFunctionPart(
  {
    name: "normalizer",
    guarantees:
      "Gives JSON bodies and forms to the body readers and the request normalizer of a gateway that refuses each " +
      "request before it is sent (`beforeSend`). Bodies are valid or changed in structure, numbers, escapes, white space " +
      "and bytes, and cut into chunks. The image request is that of `JSON.parse` and the family alone, wherever the body " +
      "is cut and also if the host has parsed it; forwarded numbers keep their digits; the images of a form keep their " +
      "bytes and their order. Everything else is refused with a documented 4xx. An input is one body with its cuts.",
    weight: 1,
  },
  createNormalizerChecks(normalize),
);

/** A gateway that refuses each request when it is understood. It is opened with the first request. */
let gateway: Gateway | undefined;
/** The request of the call that runs. Calls run one after another. */
let understood: string | undefined;

export async function normalize(request: GatewayRequest): Promise<Normalized> {
  gateway ??= openGateway();
  understood = undefined;
  const response = await gateway.handle(request);
  if (response === null || typeof response.body !== "string") throw new TypeError("A refusal has a body.");
  const { status, headers, body } = response;
  return { status, headers, body, request: understood };
}

function openGateway(): Gateway {
  const models = Object.entries(FAMILIES).map(([model, { name }]) => [model, { family: name }] as const);
  const channels = [seedream, qwenImage].map(({ name }) => ({
    id: name,
    family: name,
    apiKey: "unused",
    baseUrl: "https://provider.example",
  }));
  return createGateway(
    {
      models: Object.fromEntries(models),
      channels,
      authenticate: () => ({ id: "tester" }),
      beforeSend(request) {
        // Written at once: the bytes of uploads can be read until the request is over.
        understood = JSON.stringify(request);
        throw new GatewayError("request_refused", "The request was understood.");
      },
      logger: { warn: () => undefined, error: () => undefined },
    },
    { repeat: () => () => undefined },
  );
}

function toRequest(
  { path }: JsonBody,
  contentType: string,
  chunks: readonly Uint8Array[],
  parsedBody?: unknown,
): GatewayRequest {
  const headers = new Map([
    ["authorization", "Bearer key"],
    ["content-type", contentType],
  ]);
  return {
    method: "POST",
    url: path,
    headers: { get: (name) => headers.get(name) ?? null },
    body: parsedBody === undefined ? toStream(chunks) : null,
    parsedBody,
    signal: { aborted: false },
  };
}

async function* toStream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  // Copies: the gateway may keep or free what it gets.
  for (const chunk of chunks) yield Uint8Array.from(chunk);
}

function findBrokenResult({ status, headers, body, request }: Normalized): string | undefined {
  const isUnderstood = request !== undefined;
  if (isUnderstood !== (status === UNDERSTOOD)) return "a request is understood or refused";
  if (!isUnderstood && !REFUSALS.has(status)) return "a body is refused with a 400, 404, 413 or 415";
  return findBrokenRule({ status, headers, body: Buffer.from(body) });
}

/** A malformed form may have several faults. Which one the message names can depend on the chunks. */
async function findBrokenSplit(
  normalizeBody: Normalize,
  result: Normalized,
  whole: GatewayRequest,
): Promise<string | undefined> {
  const { status, request } = await normalizeBody(whole);
  const isSame = status === result.status && request === result.request;
  return isSame ? undefined : "the chunks of a body change nothing";
}

const REFUSED = { request: undefined };

/** The image request as JSON, by `JSON.parse` and the family. `undefined`: both results are right. */
function expectRequest({ path }: JsonBody, bytes: Uint8Array): Pick<Normalized, "request"> | undefined {
  const json = readJson(bytes);
  if (json.kind !== "fields") return json.kind === "large" ? undefined : REFUSED;
  const { model, ...fields } = json.fields;
  if (typeof model !== "string" || !Object.hasOwn(FAMILIES, model)) return undefined;
  const family = FAMILIES[model];
  const operation = path === NATIVE ? "native" : "generate";
  if (family?.operations.has(operation) !== true) return REFUSED;
  // The gateway itself refuses these for families that do not take them.
  if (operation !== "native" && Object.keys(fields).some((name) => /^(?:mask|markup)(?:\[|$)/.test(name)))
    return undefined;
  const isKept = ([, value]: readonly [string, unknown]): boolean => operation === "native" || value !== null;
  const context = {
    operation,
    model,
    upstreamModels: [model],
    capabilities: family.findCapabilities?.(model),
    defaultResponseFormat: undefined,
  } as const;
  if (hasPrivateLink(fields)) return undefined;
  try {
    const request = family.normalize(Object.fromEntries(Object.entries(fields).filter(isKept)), context);
    return { request: JSON.stringify(request) };
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** True if a value may be a link to a host that is not public. The gateway refuses such a link before the family sees it. */
function hasPrivateLink(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some(hasPrivateLink);
  if (typeof value !== "string" || !/^\s*h\s*t\s*t\s*p/i.test(value) || !URL.canParse(value)) return false;
  const host = new URL(value).hostname.replace(/^\[|\]$/g, "");
  const isAddress = net.isIP(host) !== 0;
  return isAddress
    ? !isPublic(host)
    : !host.includes(".") || /\.(?:localhost|local|internal|arpa)\.?$|\.$/.test(host);
}

/** True for the same values, however their numbers are written. */
function isSameJson(text: string | undefined, other: string | undefined): boolean {
  if (text === other) return true;
  if (text === undefined || other === undefined) return false;
  // JSON has no infinity: `JSON.stringify` writes null for both.
  return isDeepStrictEqual(JSON.parse(JSON.stringify(JSON.parse(text))), JSON.parse(other));
}

const FORWARDED = /"forwarded":(-?\d[\d.]*(?:[eE][+-]?\d+)?)/g;

/** A number that is only forwarded is written with the digits of the client. */
function findBrokenNumber({ request = "" }: Normalized, bytes: Buffer): string | undefined {
  const text = bytes.toString();
  const isKept = [...request.matchAll(FORWARDED)].every(([, number = ""]) => text.includes(number));
  return isKept ? undefined : "a forwarded number keeps its digits";
}

/** True if a number of the text is not written as JavaScript writes it. A host's parser loses its digits. */
function hasOddNumber(text: string): boolean {
  const numbers = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, "").match(/-?\d[\d.eE+-]*/g) ?? [];
  return numbers.some((number) => String(Number(number)) !== number);
}

/** The result is the same if the host has parsed the body. */
async function findBrokenParsed(
  normalizeBody: Normalize,
  input: JsonBody,
  result: Normalized,
): Promise<string | undefined> {
  const bytes = fromBytes(input.body);
  const json = readJson(bytes);
  if (json.kind !== "fields" || hasOddNumber(bytes.toString())) return undefined;
  const parsed = await normalizeBody(toRequest(input, JSON_TYPE, [], json.fields));
  const isSame = parsed.status === result.status && parsed.request === result.request;
  return isSame ? undefined : "a body that the host has parsed gives the same image request";
}
