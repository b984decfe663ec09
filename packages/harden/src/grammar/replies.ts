import { type Making, writeMaking } from "../simulated-provider.ts";
import { type Bytes, drawCuts, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";
import { mutateJson, toJson, writeJson } from "./json-text.ts";
import { GENERATIONS, NATIVE, QWEN_IMAGE, SEEDREAM } from "./requests.ts";

/** A request and what the provider replies to it. `$CHANNEL_KEY` in the reply is replaced when it is sent. */
export interface ReplyInput {
  readonly ask: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
  /** Where the body is cut into chunks. */
  readonly cuts: readonly number[];
  readonly ending: "ends" | "breaks" | "times out";
  readonly reader: "reads" | "leaves";
  /** Images that a valid reply makes; `null` if the reply is not valid. */
  readonly makes: number | null;
}

/** What clients ask for, and the form of a valid reply. */
const ASKS: readonly { readonly ask: ReplyInput["ask"]; readonly form: Making["form"] }[] = [
  { ask: { path: GENERATIONS, body: { model: SEEDREAM, prompt: "x", n: 4 } }, form: "seedream" },
  {
    ask: { path: GENERATIONS, body: { model: SEEDREAM, prompt: "x", n: 4, response_format: "b64_json" } },
    form: "seedream",
  },
  { ask: { path: GENERATIONS, body: { model: SEEDREAM, prompt: "x", n: 4, stream: true } }, form: "events" },
  { ask: { path: NATIVE, body: native({}) }, form: "seedream" },
  { ask: { path: NATIVE, body: native({ stream: true }) }, form: "events" },
  { ask: { path: GENERATIONS, body: { model: QWEN_IMAGE, prompt: "x", n: 4 } }, form: "qwen-image" },
  {
    ask: { path: GENERATIONS, body: { model: QWEN_IMAGE, prompt: "x", n: 4, response_format: "b64_json" } },
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

/** A reply: a quarter of them valid, the others changed in structure, bytes, head or end. */
export function drawReply(random: Random): ReplyInput {
  const { ask, form } = pick(random, ASKS);
  const making: Making = { images: drawInt(random, 1, 4), form };
  const text = form === "events" ? respell(random, writeMaking(making)) : writeMaking(making);
  const valid = toInput(ask, making, text);
  const cut = { ...valid, cuts: drawCuts(random, Buffer.byteLength(text)), reader: drawReader(random) };
  return chance(random, 0.25) ? cut : spoil(random, cut, making);
}

/** Valid streams, each cut at every place: the fixed set of cases. */
export function listSplits(): readonly ReplyInput[] {
  const streams = ASKS.filter(({ form }) => form === "events").flatMap(({ ask }) => {
    const making: Making = { images: 2, form: "events" };
    const text = writeMaking(making);
    const spellings = [
      text,
      text.replaceAll("\n", "\r\n"),
      text.replaceAll("\n", "\r"),
      `\ufeff:hi\n\n${text}`,
      spreadData(text),
    ];
    return spellings.map((spelling) => toInput(ask, making, spelling));
  });
  return streams.flatMap((input) => {
    const length = Buffer.from("text" in input.body ? input.body.text : "").length;
    return Array.from({ length }, (_, place) => ({ ...input, cuts: [place] }));
  });
}

function toInput(ask: ReplyInput["ask"], making: Making, text: string): ReplyInput {
  const type = making.form === "events" ? "text/event-stream" : "application/json";
  return {
    ask,
    status: 200,
    headers: { "content-type": type },
    body: { text },
    cuts: [],
    ending: "ends",
    reader: "reads",
    makes: making.images,
  };
}

function drawReader(random: Random): ReplyInput["reader"] {
  return chance(random, 0.9) ? "reads" : "leaves";
}

/** Other spellings of the same events: line ends, comments, fields that mean nothing, data on several lines. */
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

/** JSON may be spread over several data lines, which the reader joins with a line feed. */
function spreadData(text: string): string {
  return text.replaceAll(',"created"', '\ndata: ,"created"');
}

const QUOTES = [
  "Incorrect API key provided: $CHANNEL_KEY.",
  "$CHANNEL_KEY",
  "Bearer $CHANNEL_KEY",
  "a$CHANNEL_KEY$CHANNEL_KEY",
];

function spoil(random: Random, input: ReplyInput, making: Making): ReplyInput {
  const spoiled: ReplyInput = {
    ...input,
    makes: null,
    ...spoilBody(random, making),
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

function drawEnding(random: Random): ReplyInput["ending"] {
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

function spoilBody(random: Random, making: Making): Pick<ReplyInput, "body" | "cuts"> {
  const bytes = drawSpoiledBytes(random, making);
  return { body: toBytes(bytes), cuts: drawCuts(random, bytes.length) };
}

function drawSpoiledBytes(random: Random, making: Making): Buffer {
  const kind = random();
  const text = writeMaking(making);
  if (kind < 0.35)
    return Buffer.from(making.form === "events" ? spoilEvents(random, text) : spoilJson(random, text));
  if (kind < 0.5) return mutateBytes(random, Buffer.from(text));
  if (kind < 0.6) return Buffer.from(text.slice(0, drawInt(random, 0, text.length)));
  if (kind < 0.7) return Buffer.from(quoteKey(random, text));
  if (kind < 0.8)
    return Buffer.from(writeMaking({ ...making, form: pick(random, ["seedream", "events", "qwen-image"]) }));
  if (kind < 0.9) return Buffer.from(drawError(random));
  return Buffer.from(enlarge(random, text, making));
}

function spoilJson(random: Random, text: string): string {
  return writeJson(mutateJson(random, toJson(JSON.parse(text))));
}

/** Events changed one by one, left out, doubled or in another order. */
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

/** Puts the channel's key where the provider writes text. */
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

/** The same reply with much in it: pictures, many items, spaces. */
function enlarge(random: Random, text: string, { form }: Making): string {
  const size = drawInt(random, 10_000, chance(random, 0.1) ? 1_000_000 : 100_000);
  if (form === "events") return text.replaceAll(/"url":"[^"]*"/g, () => `"b64_json":"${"A".repeat(size)}"`);
  const isSpace = chance(random, 0.3);
  return isSpace
    ? text.replace(",", `,${" ".repeat(size)}`)
    : text.replace(/"url":"[^"]*"/, () => `"b64_json":"${"A".repeat(size)}"`);
}
