import { Buffer } from "node:buffer";
import type { SettledRecord } from "../billing/records.js";
import { findDialect } from "../channels/channel.js";
import type { Dialect } from "../families/dialect.js";
import type { StreamResult } from "../families/response-shape.js";
import { countItems } from "../families/shared.js";
import type { ImageRequest } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { require, requireSame } from "./expect.js";
import { CHANNEL_KEY, type ClientResponse, createReplay, type ReplayedCall } from "./replay.js";
import { createResponder, findResult } from "./respond.js";
import type { FamilyCheck, FamilySubject, RecordedExchange } from "./subject.js";

/** What a family must hold for each recorded exchange. */
export function* checkExchange(subject: FamilySubject, exchange: RecordedExchange): Iterable<FamilyCheck> {
  const { name, response } = exchange;
  yield {
    name: `${name}: delivers and charges what the provider made`,
    run: () => checkMoney(subject, exchange),
  };
  yield {
    name: `${name}: is read the same however its bytes arrive`,
    async run() {
      for (const parts of [2, 50, 1_000]) await checkMoney(subject, exchange, parts);
    },
  };
  yield {
    name: `${name}: sends the same call each time, with the key in its headers only`,
    run: () => checkCalls(subject, exchange),
  };
  if (typeof response.body === "string") {
    const { body } = response;
    yield {
      name: `${name}: a stream that is cut gives what came`,
      run: () => checkCutStream(subject, exchange, body),
    };
  } else {
    yield {
      name: `${name}: is read as it arrives with the same result`,
      run: () => checkShape(subject, exchange),
    };
    yield { name: `${name}: can be base64 for the client`, run: () => checkBase64(subject, exchange) };
    yield {
      name: `${name}: can be a stream of OpenAI's events`,
      run: () => checkOpenAiStream(subject, exchange),
    };
  }
}

async function checkMoney(subject: FamilySubject, exchange: RecordedExchange, parts?: number): Promise<void> {
  const replay = createReplay(subject, createResponder(exchange, parts));
  const seen = await replay.send(exchange.request);
  await replay.close();
  checkOutcome(subject, exchange, { seen, record: replay.records[0] });
}

/** What a client got, and the record of its request. */
interface SeenOutcome {
  readonly seen: ClientResponse;
  readonly record: SettledRecord | undefined;
}

/** @throws FamilyCheckError if an outcome is not the recorded one */
export function checkOutcome(
  subject: FamilySubject,
  { request, expects }: RecordedExchange,
  { seen, record }: SeenOutcome,
): void {
  require(record !== undefined, "A request that reached the provider leaves a record.", seen);
  requireSame(seen.status, expects.status ?? 200, "The client gets the expected status.");
  requireSame(record.images, expects.images, "The record has the images that the client got.");
  requireSame(record.usage, expects.usage, "The record has the usage that the provider reported.");
  require(record.reportedUsage ===
    undefined, "normalize allows what the provider makes: maxImages, maxTokensPerImage.", record);
  const charged = expects.usage?.generated_images ?? expects.images;
  const { maxImages } = normalize(subject, request);
  require(charged <= maxImages, "maxImages of the request covers what is charged.", maxImages);
  requireSame(record.charge, String(charged), "Each image that was made is charged once.");
  if (expects.code !== undefined)
    requireSame(codeOf(seen), expects.code, "The client gets the provider's code.");
  require(!seen.text.includes(CHANNEL_KEY), "No response has the key.");
}

/** A second call, to a second channel, after the first one was not accepted. */
async function checkCalls(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const { respond } = createResponder(exchange);
  const replay = createReplay(subject, {
    channels: 2,
    respond: (index, call) => (index === 0 ? new Response("", { status: 503 }) : respond(index, call)),
  });
  await replay.send(exchange.request);
  await replay.close();
  const [first, second] = replay.calls;
  require(first !== undefined &&
    second !== undefined, "A request goes to a second channel after a 503.", replay.calls.length);
  requireSame(toComparable(second), toComparable(first), "The second attempt sends the same call.");
  for (const { url, body } of replay.calls) {
    const isInPlace = !url.includes(CHANNEL_KEY) && !Buffer.from(body).includes(CHANNEL_KEY);
    require(isInPlace, "The key is in the headers only.", url);
  }
  const dialect = findDialect(subject.family, subject.dialect);
  // A signature also depends on the call.
  if (dialect.signs !== undefined) return;
  const [own, other] = [CHANNEL_KEY, "another-key"].map((key) =>
    JSON.stringify(dialect.authorize?.(key) ?? key),
  );
  require(own !== other, "authorize puts the key into a header.", own);
}

/** A form has another boundary each time. */
function toComparable({ method, url, headers, body }: ReplayedCall): unknown {
  const boundary = /boundary=(\S+)/.exec(headers.get("content-type") ?? "")?.[1];
  const text = Buffer.from(body).toString("latin1");
  const { pathname, search } = new URL(url);
  return {
    method,
    path: pathname + search,
    body: boundary === undefined ? text : text.replaceAll(boundary, ""),
  };
}

async function checkCutStream(
  subject: FamilySubject,
  { request }: RecordedExchange,
  text: string,
): Promise<void> {
  const dialect = findDialect(subject.family, subject.dialect);
  require(dialect.readStream !== undefined, "A family whose provider streams has readStream.");
  const events = readEvents(text);
  const whole = readAll(dialect, normalize(subject, request), events);
  let before = 0;
  for (let count = 0; count <= events.length; count++) {
    const { images } = readAll(dialect, normalize(subject, request), events.slice(0, count));
    require(images >= before && images <= whole.images, "The images of a stream only become more.", images);
    before = images;
  }
  const short = events.map(({ event, data }) => ({ event, data: data.slice(0, 20) }));
  const cut = readAll(dialect, normalize(subject, request), short);
  require(cut.images <= whole.images, "Events that are not JSON make no images.", cut);
}

interface ServerEvent {
  readonly event: string | undefined;
  readonly data: string;
}

function readEvents(text: string): readonly ServerEvent[] {
  return text.split("\n\n").flatMap((block) => {
    const lines = block.split("\n");
    const data = lines.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
    const event = lines
      .find((line) => line.startsWith("event:"))
      ?.slice(6)
      .trim();
    return data.length === 0 ? [] : [{ event, data: data.join("\n") }];
  });
}

function readAll(dialect: Dialect, request: ImageRequest, events: readonly ServerEvent[]): StreamResult {
  const reader = dialect.readStream?.(request);
  for (const event of events) reader?.read(event);
  return reader?.result() ?? { images: 0, usage: undefined, failure: undefined };
}

async function checkShape(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const { request } = exchange;
  const { body } = findResult(exchange);
  require(typeof body !== "string", "The response with the result is JSON.", body);
  const dialect = findDialect(subject.family, subject.dialect);
  const result = dialect.fromUpstream(body, normalize(subject, request));
  for (const junk of JUNK) {
    const { images } = dialect.fromUpstream(junk, normalize(subject, request));
    requireSame(images.length, 0, "A response without an image has none.");
  }
  const { responseShape: shape } = dialect;
  if (shape === undefined) return;
  const value = body[shape.items];
  const items = (Array.isArray(value) ? value : []).map((item: unknown, index) =>
    shape.readItem(item, index),
  );
  const images = items.filter((item) => item === "image").length;
  const usage = shape.readUsage(body[shape.usage]);
  requireSame(
    {
      images,
      errors: items.filter((item) => item !== "image"),
      usage: shape.countsItems === true ? countItems(usage, images) : usage,
      failure: shape.readFailure(body[shape.failure]),
    },
    { images: result.images.length, errors: result.errors, usage: result.usage, failure: result.failure },
    "responseShape and fromUpstream read the same.",
  );
}

/** What a proxy or a changed interface may send. */
const JUNK: readonly JsonObject[] = [
  {},
  { data: null, output: null, candidates: null, images: null },
  { data: [null, 1, "x", {}], images: [null, {}], candidates: [null, {}], output: { choices: [null, {}] } },
  { error: null, usage: "x" },
];

async function checkBase64(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const { request, expects } = exchange;
  if (expects.images === 0) return;
  const replay = createReplay(subject, createResponder(exchange));
  const fields = { ...request.fields, response_format: "b64_json" };
  const { body } = await replay.send({ ...request, fields });
  await replay.close();
  const data = Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
  requireSame(data.length, expects.images, "A client that asks for b64_json gets each image.");
  require(data.every(
    (item) => typeof item["b64_json"] === "string",
  ), "A client that asks for b64_json gets base64.", data);
}

async function checkOpenAiStream(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const { request, expects } = exchange;
  if (expects.images === 0) return;
  const replay = createReplay(subject, { ...createResponder(exchange), streamFormat: "openai" });
  const { text, status } = await replay.send({ ...request, fields: { ...request.fields, stream: true } });
  await replay.close();
  requireSame(status, 200, "With the stream format openai, stream: true is valid for every request.");
  const type = request.operation === "edit" ? "image_edit.completed" : "image_generation.completed";
  requireSame(text.split(`event: ${type}\n`).length - 1, expects.images, "Each image is an event.");
  requireSame(
    replay.records[0]?.charge,
    String(expects.usage?.generated_images ?? expects.images),
    "A stream costs the same.",
  );
}

/** The request that the family makes of a recorded one. */
export function normalize(
  { family, model }: FamilySubject,
  { operation, fields }: RecordedExchange["request"],
): ImageRequest {
  const frozen = Object.freeze(operation === "edit" ? { ...fields, image: [DATA_URL] } : { ...fields });
  return family.normalize(frozen, {
    operation: operation ?? "generate",
    model,
    capabilities: family.findCapabilities?.(model),
    defaultResponseFormat: undefined,
  });
}

const DATA_URL = "data:image/png;base64,iVBORw0KGgo=";

function codeOf({ body }: ClientResponse): unknown {
  return isJsonObject(body["error"]) ? body["error"]["code"] : undefined;
}
