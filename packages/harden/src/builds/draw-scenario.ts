import { createHash } from "node:crypto";
import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { cutAt, drawCuts, mutateBytes } from "../grammar/bytes.ts";
import { chance, drawInt, pick, type Random } from "../grammar/draw.ts";
import { mutateFields, mutateJson, toJson, writeJson } from "../grammar/json-text.ts";
import { drawPricedCall, type PricedCall } from "../grammar/priced-calls.ts";
import { drawFailure } from "../grammar/provider-bodies.ts";
import { EDITS, GENERATIONS, NATIVE } from "../grammar/requests.ts";
import { JOB_MODEL, jobFamily } from "./job-family.ts";
import type { ClientCall, FailureReason, Reply, Scenario } from "./scenario.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The key of the only caller. */
export const CALLER_KEY = "caller-canary-7c0de4b1";

/** Providers act at whole milliseconds. Whatever else happens is apart from that, so that the order is certain. */
const APART_MS = 0.5;

/** Draws the scenario with this number. */
export function drawScenario(seed: number, index: number): Scenario {
  const random = createRandom(seed, `scenario ${index}`);
  const isOfJobs = chance(random, 0.12);
  const priced = Array.from({ length: chance(random, 0.7) ? 1 : 2 }, () => drawPricedCall(random));
  const [first] = priced;
  const own = isOfJobs ? [drawJobCall(random)] : priced.map((call) => drawCall(random, call));
  return {
    models: {
      ...Object.fromEntries(priced.map(({ model, family }) => [model, family])),
      [JOB_MODEL]: jobFamily.name,
    },
    prices: {
      ...Object.fromEntries(priced.map(({ model, before }) => [model, before])),
      [JOB_MODEL]: { pricing_mode: "per-request", model_price: "0.1" },
    },
    onLost: first?.onLost ?? "release",
    results: chance(random, 0.5) ? "none" : pick(random, ["gateway", "store", "function"]),
    storesNative: chance(random, 0.5),
    afterImage: chance(random, 0.6)
      ? "none"
      : pick(random, ["looks", "looks", "changes", "refuses", "throws"]),
    streamFormat: pick(random, ["native", "openai"]),
    maxHeldImageBytes: pick(random, [4_194_304, 100_000, 1_000]),
    heartbeatSeconds: chance(random, 0.3) ? pick(random, [0.05, 1]) : undefined,
    showCharge: chance(random, 0.3),
    hasLimits: chance(random, 0.3),
    calls: own.flatMap((call) => [call, ...drawRepeats(random, call)]),
    replies: {
      ...Object.fromEntries(priced.map((call) => [call.family, drawReplies(random, call)])),
      ...(isOfJobs && drawJobReplies(random)),
    },
    downloads: Array.from({ length: 3 }, () => drawDownload(random)),
    failingStoreCall: chance(random, 0.15) ? drawInt(random, 0, 15) : undefined,
    diesAtMs: chance(random, isOfJobs ? 0.5 : 0.05) ? drawInt(random, 1, 6_000) + APART_MS / 2 : undefined,
  };
}

function drawCall(random: Random, { path, body, family }: PricedCall): ClientCall {
  const fields: Fields = {
    ...body,
    ...(chance(random, 0.4) && { response_format: pick(random, ["url", "b64_json", "b64_json"]) }),
    ...(chance(random, 0.2) && { stream: true, ...(chance(random, 0.2) && { partial_images: 1 }) }),
    ...(chance(random, 0.1) && { x_unknown: { a: [1, null, "é"] } }),
  };
  if (family === "qwen-image" && chance(random, 0.2)) return toNativeCall(random, fields);
  if (("image" in fields || "images" in fields) && path !== NATIVE && chance(random, 0.4)) {
    return toFormCall(random, fields);
  }
  return toJsonCall(random, path, chance(random, 0.05) ? mutateFields(random, fields) : fields);
}

function drawJobCall(random: Random): ClientCall {
  const n = chance(random, 0.5) ? drawInt(random, 2, 4) : 1;
  return toJsonCall(random, GENERATIONS, {
    model: JOB_MODEL,
    prompt: "a fox",
    n,
    stream: chance(random, 0.2),
  });
}

function toJsonCall(random: Random, path: string, fields: Fields): ClientCall {
  const text = Buffer.from(JSON.stringify(fields));
  const body = chance(random, 0.03) ? mutateBytes(random, text) : text;
  return { ...drawClient(random, "application/json"), path, body, cuts: drawCuts(random, body.length) };
}

/** The same request on DashScope's own path. */
function toNativeCall(random: Random, { model, prompt, n = 1, image = [] }: Fields): ClientCall {
  const images = Array.isArray(image) ? image.map((url: unknown) => ({ image: url })) : [];
  const messages = [{ role: "user", content: [...images, { text: prompt }] }];
  return toJsonCall(random, DASHSCOPE, { model, input: { messages }, parameters: { n } });
}

const DASHSCOPE = "/api/v1/services/aigc/multimodal-generation/generation";

/** The same request as a form, with the images as files. */
function toFormCall(random: Random, { images, image = images, ...fields }: Fields): ClientCall {
  const files = Array.isArray(image) ? image : [image];
  const parts = [
    ...Object.entries(fields).map(([name, value]) => `name="${name}"\r\n\r\n${toFormValue(value)}`),
    ...files.map(
      (_, at) => `name="image[]"; filename="${at}.png"\r\ncontent-type: image/png\r\n\r\n${PNG}${at}`,
    ),
  ];
  const written = parts.map((part) => `--${BOUNDARY}\r\ncontent-disposition: form-data; ${part}\r\n`);
  const body = Buffer.from(`${written.join("")}--${BOUNDARY}--\r\n`, "latin1");
  const type = `multipart/form-data; boundary=${BOUNDARY}`;
  return { ...drawClient(random, type), path: EDITS, body, cuts: drawCuts(random, body.length) };
}

const BOUNDARY = "----harden";
const PNG = "\x89PNG\r\n\x1a\n";

function toFormValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function drawClient(random: Random, type: string): Omit<ClientCall, "path" | "body" | "cuts"> {
  return {
    atMs: drawInt(random, 0, 1_000),
    headers: {
      authorization: `Bearer ${chance(random, 0.98) ? CALLER_KEY : "wrong"}`,
      "content-type": type,
      ...(chance(random, 0.25) && { "idempotency-key": `key-${drawInt(random, 0, 9_999)}` }),
      ...(chance(random, 0.15) && { prefer: "respond-async" }),
      ...(chance(random, 0.1) && { "x-calotype-tags": "project=fox" }),
    },
    leavesAfterMs: chance(random, 0.2) ? drawInt(random, 0, 3_000) + APART_MS : undefined,
    follows: pick(random, ["waits", "waits", "watches", "cancels", "lists"]),
  };
}

/** Repeats of a request with an idempotency key: while it runs, or later. */
function drawRepeats(random: Random, call: ClientCall): readonly ClientCall[] {
  if (call.headers["idempotency-key"] === undefined || chance(random, 0.3)) return [];
  const repeat = { ...call, leavesAfterMs: undefined };
  return [
    { ...repeat, atMs: call.atMs + drawInt(random, 0, 2_000) + APART_MS },
    // After everything else.
    {
      ...repeat,
      atMs: 600_000,
      ...(chance(random, 0.1) && { body: Buffer.concat([call.body, Buffer.from(" ")]) }),
    },
  ];
}

/** The responses of the priced call: larger, with other spellings, changed, refused, in chunks, and cut off. */
function drawReplies(random: Random, { replies }: PricedCall): readonly Reply[] {
  return replies.map((reply) => {
    if (chance(random, 0.08)) return drawRefusal(random);
    const isEvents = chance(random, 0.02) ? !reply.isStream : reply.isStream;
    const body = Buffer.from(fillImages(random, drawBody(random, reply)));
    return {
      ...drawHead(random, isEvents ? "text/event-stream" : "application/json"),
      status: reply.status,
      chunks: drawChunks(random, chance(random, 0.05) ? mutateBytes(random, body) : body),
      ...(reply.isCut && { breaks: pick<FailureReason>(random, ["broken", "timeout"]) }),
    };
  });
}

function drawBody(random: Random, { isStream, text }: PricedCall["replies"][number]): string {
  if (!isStream) return respell(random, text);
  return chance(random, 0.05) ? JSON_BODY : text;
}

/** The image and the link in the bodies of `priced-calls.ts`. */
const SMALL = "iVBORw0KGgo=";
const LINK = '"url":"https://images.example/1.png"';
/** A response without a stream, for requests with one. */
const JSON_BODY = `{"created":1,"data":[{"b64_json":"${SMALL}"}],"usage":{"total_tokens":7}}`;

/** Replaces the images by other ones, and sometimes links by images. */
function fillImages(random: Random, body: string): string {
  const isBase64 = chance(random, 0.4);
  const images = isBase64 ? body.replaceAll(LINK, `"b64_json":"${SMALL}"`) : body;
  return images.replaceAll(SMALL, () => drawImage(random).toString("base64"));
}

/** Bytes without repetitions, so that a part that is lost or sent twice is a difference. */
const NOISE = createHash("shake256", { outputLength: 750_000 }).update("noise").digest();

/** A PNG: mostly small, sometimes beyond the limits of what is held in memory or relayed. */
function drawImage(random: Random): Buffer {
  const most = pick(random, IMAGE_BYTES);
  return Buffer.concat([Buffer.from(PNG, "latin1"), NOISE.subarray(0, drawInt(random, most / 2, most))]);
}

const IMAGE_BYTES = [40, 40, 40, 40, 40, 40, 40, 3_000, 3_000, 3_000, 60_000, 110_000, 110_000, 750_000];

/** The same JSON with white space, or changed in its structure. */
function respell(random: Random, text: string): string {
  const kind = random();
  if (kind < 0.7) return text;
  const json = toJson(JSON.parse(text));
  if (kind < 0.8) return writeJson(mutateJson(random, json));
  return writeJson(json, () => (chance(random, 0.2) ? pick(random, [" ", "\n", "\t", "\r\n"]) : ""));
}

const REFUSAL_TYPES = [
  ...Array.from({ length: 8 }, () => "application/json"),
  "text/html",
  "text/event-stream",
];

/** An error of either form, also with status 200. */
function drawRefusal(random: Random): Reply {
  const { status, body } = drawFailure(random);
  const noResponse = chance(random, 0.2)
    ? pick<FailureReason>(random, ["unreachable", "timeout", "broken"])
    : undefined;
  const head = drawHead(random, pick(random, REFUSAL_TYPES));
  return { ...head, status, noResponse, chunks: drawChunks(random, Buffer.from(JSON.stringify(body))) };
}

function drawHead(random: Random, type: string): Pick<Reply, "afterMs" | "headers"> {
  return {
    afterMs: chance(random, 0.5) ? 0 : drawInt(random, 1, 2_500),
    headers: {
      "content-type": type,
      ...(chance(random, 0.3) && { "x-request-id": `up-${drawInt(random, 0, 99)}` }),
      ...(chance(random, 0.1) && { "retry-after": "2" }),
      ...(chance(random, 0.01) && { "content-encoding": "br" }),
    },
  };
}

function drawChunks(random: Random, bytes: Buffer): Reply["chunks"] {
  const isSlow = chance(random, 0.5);
  return cutAt(bytes, drawCuts(random, bytes.length)).map((chunk) => ({
    afterMs: isSlow ? drawInt(random, 0, 300) : 0,
    bytes: Buffer.from(chunk),
  }));
}

function drawDownload(random: Random): Reply {
  if (chance(random, 0.1)) return drawRefusal(random);
  return { ...drawHead(random, "image/png"), status: 200, chunks: drawChunks(random, drawImage(random)) };
}

/** A provider that accepts most submissions, and whose jobs are done after a few polls. */
function drawJobReplies(random: Random): Scenario["replies"] {
  const reply = (body: object): Reply => ({
    ...drawHead(random, "application/json"),
    status: 200,
    chunks: drawChunks(random, Buffer.from(JSON.stringify(body))),
  });
  const done = { state: "done", images: ["https://images.example/1.png"] };
  const states = [{ state: "pending" }, { state: "pending" }, done, done, { state: "failed" }];
  return {
    jobs: ["a", "b", "c", "d"].map((id) => (chance(random, 0.1) ? drawRefusal(random) : reply({ id }))),
    "jobs poll": Array.from({ length: 6 }, () => reply(pick(random, states))),
  };
}
