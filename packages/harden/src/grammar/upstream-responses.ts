import { type ImageReply, writeImageReply } from "../simulated-provider.ts";
import { type Bytes, drawCuts, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";
import { mutateJson, toJson, writeJson } from "./json-text.ts";
import { GENERATIONS, NATIVE, QWEN_IMAGE, QWEN_IMAGE_MAX, SEEDREAM } from "./requests.ts";

/** A request and the response of the provider. `$CHANNEL_KEY` in the response is replaced when it is sent. */
export interface UpstreamInput {
  readonly request: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
  /** Where the body is cut into chunks. */
  readonly cuts: readonly number[];
  readonly ending: "ends" | "breaks" | "times out";
  readonly reader: "reads" | "leaves";
  /** How streams are sent to the client. Absent: as the provider sends them, when they come. */
  readonly mode?: StreamMode | undefined;
  /**
   * For a request that takes several upstream calls: whether each of them, in the order of arrival, gets a valid response
   * with one image. The others get the response of the input.
   */
  readonly validCalls?: readonly boolean[] | undefined;
  /** The number of images of a valid response; `null` if the response is not valid. */
  readonly makes: number | null;
}

/**
 * `openai`: in OpenAI's format. `early`: the provider is so late that the stream begins before its response. `early openai`:
 * both.
 */
export type StreamMode = (typeof STREAM_MODES)[number];
const STREAM_MODES = ["openai", "early", "early openai"] as const;

/** Requests of clients, and the form of a valid response. */
const REQUESTS: readonly { readonly request: UpstreamInput["request"]; readonly form: ImageReply["form"] }[] =
  [
    { request: { path: GENERATIONS, body: { model: SEEDREAM, prompt: "x", n: 4 } }, form: "seedream" },
    {
      request: {
        path: GENERATIONS,
        body: { model: SEEDREAM, prompt: "x", n: 4, response_format: "b64_json" },
      },
      form: "seedream",
    },
    {
      request: { path: GENERATIONS, body: { model: SEEDREAM, prompt: "x", n: 4, stream: true } },
      form: "events",
    },
    { request: { path: NATIVE, body: native({}) }, form: "seedream" },
    { request: { path: NATIVE, body: native({ stream: true }) }, form: "events" },
    { request: { path: GENERATIONS, body: { model: QWEN_IMAGE, prompt: "x", n: 4 } }, form: "qwen-image" },
    {
      request: {
        path: GENERATIONS,
        body: { model: QWEN_IMAGE, prompt: "x", n: 4, response_format: "b64_json" },
      },
      form: "qwen-image",
    },
  ];

function native(fields: object): Record<string, unknown> {
  const options = {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: 4 },
  };
  return { model: SEEDREAM, prompt: "x", ...options, ...fields };
}

/** A response: a quarter of them valid, the others changed in structure, bytes, head or end. */
export function drawUpstreamInput(random: Random): UpstreamInput {
  if (chance(random, 0.15)) return drawSeveralCalls(random);
  const { request, form } = pick(random, REQUESTS);
  const planned: ImageReply = { images: drawInt(random, 1, 4), form };
  const text = form === "events" ? respell(random, writeImageReply(planned)) : writeImageReply(planned);
  const valid = withMode(toInput(request, planned, text), drawMode(random));
  const cut = { ...valid, cuts: drawCuts(random, Buffer.byteLength(text)), reader: drawReader(random) };
  return chance(random, 0.25) ? cut : spoil(random, cut, planned);
}

/** The response to some of the upstream calls of a request. The other calls get a valid one. */
function drawSeveralCalls(random: Random): UpstreamInput {
  const validCalls = Array.from({ length: drawInt(random, 2, 4) }, () => chance(random, 0.6));
  const body = {
    model: QWEN_IMAGE_MAX,
    prompt: "x",
    n: validCalls.length,
    ...(chance(random, 0.4) && { response_format: "b64_json" }),
  };
  const planned: ImageReply = { images: 1, form: "qwen-image" };
  const whole = toInput({ path: GENERATIONS, body }, planned, writeImageReply(planned));
  const input = withMode({ ...whole, reader: drawReader(random) }, drawMode(random));
  const isValid = validCalls.every(Boolean);
  return isValid
    ? { ...input, validCalls, makes: validCalls.length }
    : { ...spoil(random, input, planned), validCalls };
}

function drawMode(random: Random): StreamMode | undefined {
  return chance(random, 0.4) ? pick(random, STREAM_MODES) : undefined;
}

/** Every model of `/v1` streams in OpenAI's format. */
function withMode(input: UpstreamInput, mode: StreamMode | undefined): UpstreamInput {
  const { path, body } = input.request;
  const isOpenAi = path === GENERATIONS && mode?.endsWith("openai") === true;
  return { ...input, mode, request: { path, body: isOpenAi ? { ...body, stream: true } : body } };
}

/** The fixed set of cases: valid streams, each cut at every position. */
export function listSplits(): readonly UpstreamInput[] {
  const streams = REQUESTS.filter(({ form }) => form === "events").flatMap(({ request }) => {
    const planned: ImageReply = { images: 2, form: "events" };
    const text = writeImageReply(planned);
    const spellings = [
      text,
      text.replaceAll("\n", "\r\n"),
      text.replaceAll("\n", "\r"),
      `\ufeff:hi\n\n${text}`,
      spreadData(text),
    ];
    return spellings.map((spelling) => toInput(request, planned, spelling));
  });
  return streams.flatMap((input) => {
    const length = Buffer.from("text" in input.body ? input.body.text : "").length;
    return Array.from({ length }, (_, place) => ({ ...input, cuts: [place] }));
  });
}

function toInput(request: UpstreamInput["request"], planned: ImageReply, text: string): UpstreamInput {
  const type = planned.form === "events" ? "text/event-stream" : "application/json";
  return {
    request,
    status: 200,
    headers: { "content-type": type },
    body: { text },
    cuts: [],
    ending: "ends",
    reader: "reads",
    makes: planned.images,
  };
}

function drawReader(random: Random): UpstreamInput["reader"] {
  return chance(random, 0.9) ? "reads" : "leaves";
}

/** The same events with other line ends, comments, fields without meaning, or data on several lines. */
function respell(random: Random, text: string): string {
  let spelled = chance(random, 0.3) ? spreadData(text) : text;
  if (chance(random, 0.3))
    spelled = spelled.replaceAll(
      "event: ",
      pick(random, [": ping\n\nevent: ", "id: 7\nevent: ", "retry: 5\nevent:"]),
    );
  if (chance(random, 0.2)) spelled = spelled.replaceAll("data: ", "data:");
  if (chance(random, 0.1)) spelled = spelled.replace("data: [DONE]\n\n", "");
  if (chance(random, 0.1)) spelled = `\ufeff${spelled}`;
  return chance(random, 0.4) ? spelled.replaceAll("\n", pick(random, ["\r\n", "\r"])) : spelled;
}

/** Spreads JSON over several data lines, which a reader joins with line feeds. */
function spreadData(text: string): string {
  return text.replaceAll(',"created"', '\ndata: ,"created"');
}

const QUOTES = [
  "Incorrect API key provided: $CHANNEL_KEY.",
  "$CHANNEL_KEY",
  "Bearer $CHANNEL_KEY",
  "a$CHANNEL_KEY$CHANNEL_KEY",
];

function spoil(random: Random, input: UpstreamInput, planned: ImageReply): UpstreamInput {
  const spoiled: UpstreamInput = {
    ...input,
    makes: null,
    ...spoilBody(random, planned),
    ending: drawEnding(random),
  };
  const isHeadSpoiled = chance(random, 0.3);
  return {
    ...spoiled,
    ...(isHeadSpoiled && {
      status: pick(random, STATUSES),
      headers: { ...input.headers, ...pick(random, HEADS) },
    }),
  };
}

function drawEnding(random: Random): UpstreamInput["ending"] {
  return chance(random, 0.8) ? "ends" : pick(random, ["breaks", "times out"]);
}

const STATUSES = [
  200, 200, 200, 201, 204, 206, 301, 302, 304, 400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 429, 500,
  502, 503, 504, 520,
];
const HEADS: readonly Readonly<Record<string, string>>[] = [
  { "content-type": "text/html" },
  { "content-type": "" },
  { "content-type": "text/event-stream; charset=utf-8" },
  { "content-type": "application/json" },
  { "content-type": "text/event-stream" },
  { "content-type": "application/octet-stream" },
  { "content-encoding": "gzip" },
  { "content-encoding": "identity" },
  { "content-encoding": "br" },
  { "x-request-id": "$CHANNEL_KEY" },
  { "x-request-id": "é".repeat(500) },
  { "x-request-id": "a\tb" },
  { "retry-after": "5" },
  { "retry-after": "-1" },
  { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" },
  { "retry-after": "9".repeat(30) },
  { "content-length": "5" },
  { location: "http://127.0.0.1/" },
  { "set-cookie": "a=$CHANNEL_KEY" },
  { "x-should-retry": "true" },
];

function spoilBody(random: Random, planned: ImageReply): Pick<UpstreamInput, "body" | "cuts"> {
  const bytes = drawSpoiledBytes(random, planned);
  return { body: toBytes(bytes), cuts: drawCuts(random, bytes.length) };
}

function drawSpoiledBytes(random: Random, planned: ImageReply): Buffer {
  const kind = random();
  const text = writeImageReply(planned);
  if (kind < 0.35)
    return Buffer.from(planned.form === "events" ? spoilEvents(random, text) : spoilJson(random, text));
  if (kind < 0.5) return mutateBytes(random, Buffer.from(text));
  if (kind < 0.6) {
    const whole = chance(random, 0.3) ? enlarge(random, text, planned) : text;
    return Buffer.from(whole.slice(0, drawInt(random, 0, whole.length)));
  }
  if (kind < 0.7) return Buffer.from(quoteKey(random, text));
  if (kind < 0.8)
    return Buffer.from(
      writeImageReply({ ...planned, form: pick(random, ["seedream", "events", "qwen-image"]) }),
    );
  if (kind < 0.9) return Buffer.from(drawError(random));
  return Buffer.from(enlarge(random, text, planned));
}

function spoilJson(random: Random, text: string): string {
  return writeJson(mutateJson(random, toJson(JSON.parse(text))));
}

/** Changes, removes, repeats or reorders events. */
function spoilEvents(random: Random, text: string): string {
  const events = text.split("\n\n").filter((event) => event !== "");
  const place = drawInt(random, 0, events.length - 1);
  const event = events[place] ?? "";
  const other = pick(random, [
    'event: error\ndata: {"error":{"code":"ServerOverloaded","message":"No. $CHANNEL_KEY"}}',
    'event: image_generation.partial_failed\ndata: {"image_index":1,"error":{"code":"X","message":"$CHANNEL_KEY"}}',
    "event: unknown\ndata: {}",
    "data: [DONE]",
    "data: not json",
    ": comment",
    "data:",
    "event: image_generation.completed\ndata: {}",
    `event: image_generation.partial_succeeded\ndata: {"image_index":0,"url":"${"u".repeat(drawInt(random, 1, 100_000))}"}`,
  ]);
  const json = /data: (\{.*)/s.exec(event)?.[1];
  const changed = pick(random, [
    events.toSpliced(place, 1),
    events.toSpliced(place, 0, event),
    events.toSpliced(place, 0, other),
    events.toReversed(),
    json === undefined
      ? events
      : events.with(
          place,
          event.replace(json, () => spoilJson(random, json)),
        ),
  ]);
  return `${changed.join("\n\n")}\n\n`;
}

/** Adds the channel's key to a string of the provider. */
function quoteKey(random: Random, text: string): string {
  const places = [...text.matchAll(/"(?:url|size|model|image|request_id|type|role|finish_reason)":"/g)];
  const { index, 0: match } = pick(random, places);
  const at = index + match.length;
  return `${text.slice(0, at)}${pick(random, QUOTES)}${text.slice(at)}`;
}

const CODES = [
  "InvalidParameter",
  "AuthenticationError",
  "ServerOverloaded",
  "QuotaExceeded",
  "ModelNotOpen",
  "SensitiveContentDetected",
  "Arrearage",
  "InvalidEndpointOrModel.NotFound",
  "DataInspectionFailed",
  "Throttling",
  "",
  "x".repeat(500),
  "$CHANNEL_KEY",
  "__proto__",
];

function drawError(random: Random): string {
  const [code, message] = [pick(random, CODES), pick(random, ["No.", "", ...QUOTES, "x".repeat(70_000)])];
  return pick(random, [
    JSON.stringify({ error: { code, message, type: "x", param: null } }),
    JSON.stringify({ code, message, request_id: "$CHANNEL_KEY" }),
    JSON.stringify({ error: message }),
    JSON.stringify({ error: [] }),
    `<html><title>${message}</title></html>`,
    message,
    "",
    "null",
    "[]",
  ]);
}

/** A response with large images or long white space. */
function enlarge(random: Random, text: string, { form }: ImageReply): string {
  const size = drawInt(random, 10_000, chance(random, 0.1) ? 1_000_000 : 100_000);
  if (form === "events") return text.replaceAll(/"url":"[^"]*"/g, () => `"b64_json":"${"A".repeat(size)}"`);
  const isSpace = chance(random, 0.3);
  return isSpace
    ? text.replace(",", `,${" ".repeat(size)}`)
    : text.replace(/"url":"[^"]*"/, () => `"b64_json":"${"A".repeat(size)}"`);
}
