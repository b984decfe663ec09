import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { GatewayError } from "./errors.js";
import { gemini } from "./families/gemini/gemini.js";
import type { AfterImage } from "./features/results/after-image.js";
import type { ImageToStore, ResultStore } from "./features/results/store.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { PNG } from "./testing/form-bytes.js";
import { casesOf, createRandom, type Random, SEED } from "./testing/random.js";
import {
  ARK_KEY,
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_KEY,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "./util/json.js";

/**
 * Random requests, providers, stores, functions of operators and clients. Each case runs twice, with and without a store:
 * the store may change nothing but the links. `RUNS` and `TEST_SEED` in the environment repeat a case or run more of them.
 */
const RUNS = Number(process.env["RUNS"] ?? casesOf(300));

const SEEDREAM = "seedream-4-5-251128";
const SINGLE = "seedream-5-0-pro-260628";
const QWEN = "image-2.0-pro";
/** One image per call, as a link. */
const SINGLE_LINK = "image-max";
const GEMINI = "gemini-nano-banana-2.1";
const STORE_SECONDS = 0.6;
const CALLER = "me";
const encoder = new TextEncoder();

const pick = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)] as T;

const WAYS = [
  "json",
  "native json",
  "stream",
  "native stream",
  "openai stream",
  "calls",
  "calls stream",
  "links",
  "links stream",
  "dashscope",
  "edit",
  "form",
  "links edit",
  "links calls",
  "links calls stream",
  "gemini",
  "gemini stream",
  "gemini calls",
  "gemini calls stream",
] as const;
const STORES = [
  "good",
  "good",
  "good",
  "slow",
  "reads ahead",
  "reads twice",
  "hangs",
  "hangs and reads",
  "fails",
  "fails later",
  "throws",
  "reads nothing",
  "stops early",
  "returns nonsense",
] as const;
const AFTER = [
  "none",
  "none",
  "none",
  "nothing",
  "label",
  "slow",
  "refuses",
  "refuses all",
  "throws",
  "hangs",
  "nonsense",
] as const;
const CLIENTS = ["reads", "reads", "reads", "reads", "leaves at once", "leaves later"] as const;
const LINKS = ["good", "good", "good", "good", "missing", "breaks", "continues", "changes"] as const;
/** From which size on images are downloaded while they are sent. */
const HELD_BYTES = [4_000_000, 50_000, 0] as const;

interface Plan {
  readonly seed: number;
  readonly way: (typeof WAYS)[number];
  readonly format: "url" | "b64_json" | undefined;
  readonly images: readonly Uint8Array<ArrayBuffer>[];
  readonly chunkBytes: number;
  /** Where the response of the provider breaks off, from 0 to 1. */
  readonly breaksAt: number | undefined;
  readonly endsInOrder: boolean;
  readonly isEscaped: boolean;
  readonly hasFailedItem: boolean;
  readonly links: (typeof LINKS)[number];
  readonly heldBytes: number;
  readonly store: (typeof STORES)[number];
  readonly after: (typeof AFTER)[number];
  readonly client: (typeof CLIENTS)[number];
  readonly heartbeats: boolean;
  readonly idempotencyKey: string | undefined;
  /** True if the store can read its images. */
  readonly isReadable: boolean;
}

function plan(seed: number): Plan {
  const random = createRandom(seed);
  const way = pick(random, WAYS);
  const sizes = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
    // Of Gemini, images whose base64 has more than 128 KiB are stored before it is known that they are images.
    pick(random, way.startsWith("gemini") ? [900, 120_000, 300_000] : [10, 900, 14_000, 40_000, 120_000]),
  );
  const isJson = !way.includes("stream");
  return {
    seed,
    way,
    format: pick(random, ["url", "b64_json", "b64_json", undefined]),
    images: sizes.map((length, index) => createPng(length, seed + index * 7)),
    chunkBytes: pick(random, [700, 10_000, 10_000, 1_000_000]),
    breaksAt: random() < 0.2 ? random() : undefined,
    endsInOrder: random() < 0.3,
    isEscaped: random() < 0.3,
    hasFailedItem: random() < 0.15,
    links: pick(random, LINKS),
    heldBytes: pick(random, HELD_BYTES),
    store: pick(random, STORES),
    after: pick(random, AFTER),
    client: pick(random, CLIENTS),
    heartbeats: random() < 0.3,
    idempotencyKey: isJson && !way.includes("native") && random() < 0.3 ? `key-${seed}` : undefined,
    isReadable: random() < 0.6,
  };
}

/** A PNG by its first bytes. */
function createPng(length: number, seed: number): Uint8Array<ArrayBuffer> {
  const random = createRandom(seed);
  const bytes = Uint8Array.from({ length }, () => Math.floor(random() * 256));
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xfb, 0xef]);
  return bytes;
}

const providerLink = (index: number): string => `https://provider.test/${index}.png?a=1&b=2`;
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const toLabelled = (bytes: Uint8Array): Uint8Array => Uint8Array.from([...bytes, 1, 2, 3]);

async function* send(
  bytes: Uint8Array,
  { chunkBytes, breaksAt, endsInOrder }: Plan,
): AsyncGenerator<Uint8Array> {
  const end = breaksAt === undefined ? bytes.length : Math.floor(bytes.length * breaksAt);
  for (let at = 0; at < end; at += chunkBytes) {
    yield bytes.slice(at, Math.min(at + chunkBytes, end));
    await Promise.resolve();
  }
  if (breaksAt !== undefined && !endsInOrder) throw new Error("reset");
}

/** JSON as other languages write it. */
function write(value: unknown, { isEscaped }: Plan): string {
  const written = JSON.stringify(value);
  return isEscaped
    ? written.replaceAll("&", "\\u0026").replaceAll("+", "\\u002B").replaceAll("/", "\\/")
    : written;
}

const usage = (count: number): object => ({ generated_images: count, output_tokens: 9, total_tokens: 9 });

const readAhead = async ({ body }: ImageToStore): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  const iterator = body[Symbol.asyncIterator]();
  for (;;) {
    const taken = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
    for (const { done, value } of taken) if (done !== true) chunks.push(value);
    if (taken.some(({ done }) => done)) return Buffer.concat(chunks);
  }
};
const untilAborted = ({ signal }: ImageToStore): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(new Error("aborted"));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
  });

function provide(given: Plan): Provider {
  const { images, way, hasFailedItem } = given;
  const failed = { error: { code: "Sensitive", message: "no" } };
  let calls = 0;
  return ({ url, body, headers }) => {
    const file = /provider\.test\/(\d+)/.exec(url)?.[1];
    if (file !== undefined) return sendFile(given, images[Number(file)], headers.get("range"));
    const respond = (text: string, type: string): Response =>
      new Response(ReadableStream.from(send(encoder.encode(text), given)), {
        headers: { "content-type": type },
      });
    if (url.includes("multimodal-generation")) {
      const indexes = way.startsWith("links calls") ? [calls++] : images.map((_, index) => index);
      const content = indexes.map((index) => ({ image: providerLink(index) }));
      const output = { choices: [{ message: { role: "assistant", content } }] };
      return respond(
        write({ output, usage: { image_count: content.length }, request_id: "r" }, given),
        "application/json",
      );
    }
    if (url.includes("generateContent")) {
      const inline = (bytes: Uint8Array, rest: object = {}): object => ({
        inlineData: { mimeType: "image/png", data: toBase64(bytes) },
        ...rest,
      });
      const made = way.startsWith("gemini calls") ? [images[calls++] ?? new Uint8Array()] : images;
      // A draft is not an image of the response, and no store may keep it.
      const draft = inline(createPng(200_000, given.seed + 99), { thought: true });
      const parts = [...(hasFailedItem ? [draft] : []), ...made.map((bytes) => inline(bytes)), draft];
      return respond(
        write(
          {
            candidates: [{ content: { parts }, finishReason: "STOP" }],
            usageMetadata: { totalTokenCount: 9 },
          },
          given,
        ),
        "application/json",
      );
    }
    const isBase64 = body["response_format"] === "b64_json";
    const item = (index: number): JsonObject => ({
      ...(isBase64
        ? { b64_json: toBase64(images[index] ?? new Uint8Array()) }
        : { url: providerLink(index) }),
      size: "2048x2048",
    });
    if (body["stream"] === true) {
      const event = (name: string, data: object): string =>
        `event: image_generation.${name}\ndata: ${write({ type: `image_generation.${name}`, model: "m", created: 1, ...data }, given)}\n\n`;
      const events = images.map((_, index) =>
        event("partial_succeeded", { image_index: index, ...item(index) }),
      );
      if (hasFailedItem) events.unshift(event("partial_failed", { image_index: 9, ...failed }));
      return respond(
        `${events.join("")}${event("completed", { usage: usage(images.length) })}data: [DONE]\n\n`,
        "text/event-stream",
      );
    }
    const isCall = way.startsWith("calls");
    const data = isCall ? [item(calls++)] : images.map((_, index) => item(index));
    const all = hasFailedItem && !isCall ? [failed, ...data] : data;
    return respond(
      write({ model: "m", created: 1, data: all, usage: usage(data.length) }, given),
      "application/json",
    );
  };
}

/** Responds to the download of a link. The rest of an image breaks off too, unless the download can be continued. */
function sendFile(given: Plan, bytes = new Uint8Array(20), range: string | null = null): Response {
  const { links } = given;
  if (links === "missing") return new Response("gone", { status: 404 });
  const start = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
  const breaksAt = links === "good" || (links === "continues" && start > 0) ? undefined : 0.6;
  const body = ReadableStream.from(send(bytes.subarray(start), { ...given, breaksAt, endsInOrder: false }));
  if (links !== "continues" && links !== "changes") return new Response(body);
  const etag = links === "changes" && start > 0 ? '"other"' : '"same"';
  if (range === null) return new Response(body, { headers: { etag } });
  const contentRange = `bytes ${start}-${bytes.length - 1}/${bytes.length}`;
  return new Response(body, { status: 206, headers: { etag, "content-range": contentRange } });
}

/** True if every image can be downloaded. */
const hasLinks = ({ links }: Plan): boolean => links === "good" || links === "continues";

/** What a store did. */
interface Seen {
  readonly images: Map<string, Buffer>;
  running: number;
}

function createStore({ store, isReadable, chunkBytes }: Plan, seen: Seen): ResultStore {
  const readAll = async ({ body }: ImageToStore): Promise<Buffer> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) {
      chunks.push(chunk.slice());
      if (store === "slow") await pause(1);
    }
    return Buffer.concat(chunks);
  };
  const put = async (image: ImageToStore): Promise<void> => {
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the other stores read everything
    switch (store) {
      case "hangs":
        return untilAborted(image);
      case "hangs and reads":
        await readAll(image);
        return untilAborted(image);
      case "fails":
        throw new Error("The disk is full.");
      case "fails later":
      case "stops early":
        for await (const chunk of image.body) {
          if (store === "fails later") throw new Error("The disk is full.");
          seen.images.set(image.id, Buffer.from(chunk));
          break;
        }
        return;
      case "reads nothing":
        return;
      case "reads ahead":
        return void seen.images.set(image.id, await readAhead(image));
      default: {
        const bytes = await readAll(image);
        if (store === "reads twice") equal((await readAll(image)).length, 0);
        seen.images.set(image.id, bytes);
      }
    }
  };
  return {
    put(image) {
      if (store === "throws") throw new Error("not a promise");
      seen.running++;
      return put(image).finally(() => seen.running--);
    },
    link: ({ id }) => (store === "returns nonsense" ? "not a link" : `https://store.test/${id}`),
    ...(isReadable && {
      async open(id) {
        const bytes = seen.images.get(id);
        const body = async function* (): AsyncGenerator<Uint8Array> {
          for (let at = 0; at < (bytes?.length ?? 0); at += chunkBytes)
            yield Uint8Array.from(bytes?.subarray(at, at + chunkBytes) ?? []);
        };
        return bytes && { contentType: "image/png", byteLength: bytes.length, body: body() };
      },
    }),
  };
}

/** Stores that keep every image in time, if nothing else hinders them. */
const isGood = ({ store }: Plan): boolean => ["good", "reads ahead", "reads twice"].includes(store);

function createAfterImage({ after }: Plan): AfterImage | undefined {
  let calls = 0;
  switch (after) {
    case "none":
      return undefined;
    case "nothing":
      return () => undefined;
    case "label":
      return async (image) => toLabelled(await image.bytes());
    case "slow":
      return async (image) => {
        await pause(3);
        return toLabelled(await image.bytes());
      };
    case "refuses":
    case "refuses all":
      return () => {
        if (after === "refuses all" || calls++ % 2 === 0)
          throw new GatewayError("request_refused", "Not this one.");
      };
    case "throws":
      return () => {
        throw new TypeError("a defect");
      };
    case "hangs":
      return () => new Promise(() => {});
    case "nonsense":
      return (() => 7) as unknown as AfterImage;
  }
}

/** What the client has in the end. */
interface Got {
  readonly status: number;
  readonly text: string;
  /** True if the response was cut off. */
  readonly isCut: boolean;
}

const PATHS: Partial<Record<Plan["way"], string>> = {
  "native json": "/api/v3/images/generations",
  "native stream": "/api/v3/images/generations",
  dashscope: "/api/v1/services/aigc/multimodal-generation/generation",
  edit: "/v1/images/edits",
  form: "/v1/images/edits",
  "links edit": "/v1/images/edits",
};

function createRequest({ way, format, images, idempotencyKey }: Plan): Request {
  const n = images.length;
  const isStream = way.includes("stream");
  const model = way.startsWith("gemini")
    ? GEMINI
    : way.startsWith("calls")
      ? SINGLE
      : way.startsWith("links calls")
        ? SINGLE_LINK
        : way.startsWith("links") || way === "dashscope"
          ? QWEN
          : SEEDREAM;
  const common = { model, prompt: "a fox", ...(format !== undefined && { response_format: format }) };
  const headers: Record<string, string> = {
    authorization: `Bearer ${CALLER_KEY}`,
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
  const url = `http://gateway.test${PATHS[way] ?? "/v1/images/generations"}`;
  if (way === "form") {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...common, n: String(n) })) form.append(name, value);
    form.append("image", new Blob([new Uint8Array(PNG)], { type: "image/png" }), "a.png");
    return new Request(url, { method: "POST", headers, body: form });
  }
  const native = way.startsWith("native") && {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: n },
  };
  const fields =
    way === "dashscope"
      ? { model, input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] }, parameters: { n } }
      : {
          ...common,
          ...(native || { n: way === "gemini" || way === "gemini stream" ? 1 : n }),
          ...(isStream && { stream: true }),
          ...(way.endsWith("edit") && { image: "https://a.test/a.png" }),
        };
  return new Request(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(fields),
  });
}

/** Reads a response as the client of the plan does. */
async function read(response: Response, { client, seed }: Plan): Promise<Got> {
  const { status, body } = response;
  const chunks: Uint8Array[] = [];
  const most = client === "reads" ? Infinity : client === "leaves at once" ? 0 : 1 + (seed % 4);
  let isCut = false;
  try {
    if (most === 0) await body?.cancel();
    else {
      for await (const chunk of body ?? []) {
        chunks.push(chunk);
        if (chunks.length >= most) break;
      }
    }
  } catch {
    isCut = true;
  }
  return { status, text: Buffer.concat(chunks).toString("utf8"), isCut };
}

interface Run {
  readonly got: Got;
  /** The response to a repeat with the same idempotency key. */
  readonly repeated: Got | undefined;
  readonly test: TestGateway;
}

const MAX_BYTES = 8_000_000;

async function runOnce(given: Plan, stored: Pick<GatewayOptions, "results" | "afterImage">): Promise<Run> {
  const isOpenAi = given.way.endsWith("stream") && given.way !== "stream" && given.way !== "native stream";
  const options: Partial<GatewayOptions> = {
    models: {
      [SEEDREAM]: { family: "seedream" },
      [SINGLE]: { family: "seedream" },
      "image-2.0*": { family: "qwen-image", edits: true },
      [SINGLE_LINK]: { family: "qwen-image" },
      [GEMINI]: { family: "gemini" },
    },
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    limits: { concurrent: 1 },
    maxBytesInFlight: MAX_BYTES,
    families: [gemini],
    channels: [
      { id: "ark", family: "seedream", apiKey: ARK_KEY },
      { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY },
      { id: "google", family: "gemini", apiKey: "google-canary-0c1e77b2" },
    ],
    ...(isOpenAi && { streamFormat: "openai" }),
    ...(given.heartbeats && { heartbeatSeconds: 0.01 }),
    ...stored,
  };
  const test = createTestGateway(provide(given), options, { maxHeldImageBytes: given.heldBytes });
  const got = await read(await test.gateway.fetch(createRequest(given)), given);
  await vi.waitFor(() => expect(test.records.length + test.unresolved.length).toBe(1), {
    timeout: 6_000,
    interval: 2,
  });
  const repeated =
    given.idempotencyKey !== undefined && got.status === 200 && given.client === "reads"
      ? await read(await test.gateway.fetch(createRequest(given)), given)
      : undefined;
  return { got, repeated, test };
}

/** The images of a response: of JSON, or of the events of a stream. Throws if the response is not well-formed. */
function readImages({ text, isCut }: Got, { way, endsInOrder, breaksAt }: Plan): readonly JsonObject[] {
  if (!way.includes("stream") || text.startsWith("{")) {
    if (isCut) return [];
    const body: unknown = JSON.parse(text);
    if (!isJsonObject(body)) throw new TypeError("not an object");
    if (way === "dashscope") {
      const found = [...text.matchAll(/"image":("(?:[^"\\]|\\.)*")/g)].map(([, image]) => ({
        url: JSON.parse(image ?? "") as unknown,
      }));
      return found;
    }
    return Array.isArray(body["data"])
      ? body["data"].filter((item) => isJsonObject(item) && !("error" in item))
      : [];
  }
  const events = text.split("\n\n");
  // The last one is not complete.
  const rest = events.pop() ?? "";
  const isIncomplete = isCut || (endsInOrder && breaksAt !== undefined);
  if (!isIncomplete && rest !== "")
    throw new TypeError(`The stream ends inside an event: ${rest.slice(0, 80)}`);
  return events.flatMap((event) => {
    const lines = event.split("\n").filter((line) => line !== "" && !line.startsWith(":"));
    const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
    if (lines.some((line) => !/^(?:data|event): /.test(line)))
      throw new TypeError(`Not an event: ${event.slice(0, 80)}`);
    const [first] = data;
    if (first === undefined || first === "[DONE]") return [];
    const parsed: unknown = JSON.parse(first);
    return isJsonObject(parsed) && ("url" in parsed || "b64_json" in parsed) ? [parsed] : [];
  });
}

/** The bytes behind an image of a response: the original is `undefined` for the provider's link. */
function findBytes(image: JsonObject, seen: Seen): Uint8Array | string {
  const { url, b64_json: base64, stored_url: storedUrl } = image;
  if (typeof base64 === "string" && base64 !== "") {
    const bytes = Buffer.from(base64, "base64");
    if (toBase64(bytes) !== base64) throw new TypeError("The base64 is damaged.");
    if (typeof storedUrl === "string" && !findStored(storedUrl, seen).equals(bytes))
      throw new TypeError("Another image is stored.");
    return bytes;
  }
  if (typeof url !== "string") throw new TypeError("There is neither a link nor base64.");
  if (url.startsWith("data:")) return Buffer.from(url.slice(url.indexOf(",") + 1), "base64");
  return url.startsWith("https://store.test/") ? findStored(url, seen) : url;
}

function findStored(url: string, { images }: Seen): Buffer {
  const bytes = images.get(url.slice("https://store.test/".length));
  if (bytes === undefined) throw new TypeError("The link of the store leads nowhere.");
  return bytes;
}

/** @throws Error if the store changed more than links */
function check(given: Plan, plain: Run, run: Run, seen: Seen): void {
  const { got } = run;
  const { way, after, images, client } = given;
  const hasAfter = after !== "none";
  const hasLeft = client !== "reads";
  // If a client of several calls leaves, the time decides how many of them are sent.
  if (!hasLeft || !way.includes("calls")) deepEqual(pickMoney(run), pickMoney(plain));
  const isLabelled = after === "label" || after === "slow";
  const expected = images.map((bytes) => (isLabelled ? toLabelled(bytes) : bytes));
  const isExpected = (bytes: Uint8Array): boolean =>
    expected.some((image) => Buffer.compare(image, bytes) === 0);
  if (given.store !== "stops early") {
    ok([...seen.images.values()].every(isExpected), "Something else is stored, or half an image.");
  }
  if (hasLeft) return;
  // The base64 of Gemini is stored before its response has ended.
  if (way.startsWith("gemini") && got.status !== 200 && given.store !== "stops early") {
    equal(seen.images.size, 0);
  }

  // On native endpoints an image that is not delivered is an empty string in JSON.
  const delivered = readImages(got, given).filter(({ url, b64_json: base64 }) => url !== "" && base64 !== "");
  const before = readImages(plain.got, given);
  const shown = delivered.map((image) => findBytes(image, seen));
  for (const image of shown) {
    if (typeof image !== "string") ok(isExpected(image), "Another image is delivered.");
    else checkProviderLink(image, given);
  }
  const isRefused = ["refuses", "refuses all", "throws", "hangs", "nonsense"].includes(after);
  if (isRefused || (hasAfter && !hasLinks(given))) {
    // With the function, more is held, so an image may be complete that is cut off without it.
    ok(
      plain.got.isCut || delivered.length <= before.length,
      "There are more images than without the function.",
    );
    if (after !== "refuses" && isRefused) deepEqual(shown, []);
    return;
  }
  // With the function, more is held, so an incomplete response can be an error in place of one that is cut off.
  if (hasAfter && plain.got.isCut) return;
  // With heartbeats, a stream begins while its response waits for the store.
  if (given.heartbeats && way.endsWith("stream") && got.status === 200 && plain.got.status !== 200) {
    deepEqual(delivered, []);
    return;
  }
  equal(got.status, plain.got.status);
  // A provider's JSON is delivered whole if its links are good, or if its images are held.
  const isHeld = given.heldBytes === HELD_BYTES[0] && !way.includes("stream");
  if (given.breaksAt === undefined && (hasLinks(given) || isHeld)) ok(!got.isCut, "The response is cut off.");
  ok(plain.got.isCut || !got.isCut, "Only the response of the gateway with a store is cut off.");
  if (!got.isCut && !plain.got.isCut) equal(delivered.length, before.length);
  if (isGood(given) && hasLinks(given)) {
    for (const [at, image] of delivered.entries()) {
      checkStored(image, (!isLinkOfGemini(given) && before[at]) || {}, way);
    }
  }
  const { repeated } = run;
  if (repeated?.status !== 200 || got.status !== 200 || got.isCut) return;
  equal(repeated.text, got.text);
  equal(run.test.records.length, 1);
}

/** Without a store, Gemini has no links. */
function isLinkOfGemini({ way, format }: Plan): boolean {
  return way.startsWith("gemini") && format === "url";
}

/** What is charged: that of a gateway without a store. */
function pickMoney({ test: { records, unresolved } }: Run): unknown {
  return [records.map(({ images, charge }) => ({ images, charge })), unresolved.length];
}

/** The operator's function must not have changed the image, and a store that works must have had no chance. */
function checkProviderLink(link: string, given: Plan): void {
  ok(
    ["none", "nothing", "refuses"].includes(given.after),
    `The provider's link is delivered after: ${given.after}`,
  );
  ok(link.startsWith("https://provider.test/"));
  ok(!isGood(given) || !hasLinks(given), "The image was not stored.");
}

/** @param before the image without a store */
function checkStored(image: JsonObject, before: JsonObject, way: Plan["way"]): void {
  const isBase64 = typeof image["b64_json"] === "string";
  const isNative = ["native json", "stream", "native stream"].includes(way);
  equal(isBase64, typeof before["b64_json"] === "string");
  const link = isBase64 ? image["stored_url"] : image["url"];
  if (!isBase64 || !isNative)
    ok(String(link).startsWith("https://store.test/"), `Not stored: ${String(link)}`);
}

/** Nothing is held, open or counted any more, and the gateway can be closed. */
async function checkEnd(given: Plan, { test }: Run, seen: Seen): Promise<void> {
  await vi.waitFor(() => expect(seen.running).toBe(0), { timeout: 6_000, interval: 2 });
  const { held } = await test.gateway.usage.balance(CALLER);
  expect(held).toBe("0");
  // One slot and the whole budget of bytes are free.
  await vi.waitFor(async () => {
    const padding = given.seed % 8 === 0 ? " ".repeat(MAX_BYTES - 1_000) : "";
    const response = await test.post(`${padding}{"model":"missing"}`);
    expect(response.status).toBe(404);
  });
  await test.gateway.close({ deadlineSeconds: 6 });
}

const rejections: unknown[] = [];
const onRejection = (reason: unknown): void => void rejections.push(reason);

beforeEach(() => void process.on("unhandledRejection", onRejection));
afterEach(() => {
  process.off("unhandledRejection", onRejection);
});

const AT_ONCE = 25;

describe("with a store that may fail", () => {
  it("responses keep their images, their money and their end, whatever happens around them", async () => {
    const failures: string[] = [];
    const runOne = async (seed: number): Promise<void> => {
      const given = plan(seed);
      try {
        const seen: Seen = { images: new Map(), running: 0 };
        const plain = await runOnce(isLinkOfGemini(given) ? { ...given, format: "b64_json" } : given, {});
        const afterImage = createAfterImage(given);
        const results = { store: createStore(given, seen), timeoutSeconds: STORE_SECONDS, native: true };
        const stored = await runOnce(given, { results, ...(afterImage && { afterImage }) });
        check(given, plain, stored, seen);
        await checkEnd(given, stored, seen);
        await plain.test.gateway.close();
      } catch (error) {
        const { images, ...rest } = given;
        failures.push(
          `${JSON.stringify({ ...rest, images: images.map(({ length }) => length) })}\n${String(error)}`,
        );
      }
    };
    for (let start = 0; start < RUNS; start += AT_ONCE) {
      const seeds = Array.from({ length: Math.min(AT_ONCE, RUNS - start) }, (_, at) => SEED + start + at);
      await Promise.all(seeds.map(runOne));
    }
    expect(rejections).toEqual([]);
    expect(failures.length === 0 ? "" : `${failures.length} cases:\n${failures.slice(0, 8).join("\n")}`).toBe(
      "",
    );
  }, 480_000);
});
