import { setTimeout as pause } from "node:timers/promises";
import type { GatewayOptions } from "@calotype/core";
import { type Transport, TransportError } from "@calotype/core/testing";
import { createParser } from "eventsource-parser";
import { type BatchPlan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, readCode, type SeenResponse } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { createJsonRequest, GENERATIONS, type RequestInput } from "../grammar/requests.ts";
import {
  drawUpstreamInput,
  listSplits,
  type StreamMode,
  type UpstreamInput,
} from "../grammar/upstream-responses.ts";
import type { Finding, Part } from "../part.ts";
import { ClientLeft, describeSeen, sendRequest } from "../send-request.ts";
import {
  createSimulatedProvider,
  type SimulatedProvider,
  type UpstreamResponse,
  writeImageReply,
} from "../simulated-provider.ts";
import {
  CHANNEL_KEY,
  findKeys,
  openWatchedGateway,
  PRICE,
  settles,
  type WatchedGateway,
} from "../watched-gateway.ts";

/** Upstream responses, in process. */
export const upstream: Part<UpstreamInput> = {
  name: "upstream",
  guarantees:
    "A provider sends responses of both families: valid streams split at every place and in every spelling; " +
    "JSON and events that are changed, cut off, doubled, reordered, enlarged or in another form; all statuses, " +
    "content types and encodings; connections that break or stall; and strings that quote the channel's key. " +
    "The client gets a valid response, a 502, a 504 or the provider's refusal. A valid response is charged by " +
    "its images. Any other response costs at least nothing, and at most the hold or the images in it. Each " +
    "leaves one record, no hold and no slot, and no output contains the key. Streams are also requested in OpenAI's " +
    "format, whose events are valid whatever the provider sends, from a model that takes one call for each image, and from a provider so late that the stream begins " +
    "before its response.",
  weight: 3,
  isParallel: true,
  async run(context) {
    const splits = listSplits().filter((_, index) => index % context.share.of === context.share.index);
    context.count("recorded streams, cut at one place", 0);
    let next = 0;
    await runBatches(context, PLAN, () => {
      // Half of the inputs come from the fixed set until all of them were tried.
      const input = next < splits.length && context.random() < 0.5 ? splits[next++] : undefined;
      if (input !== undefined) context.count("recorded streams, cut at one place");
      return input ?? drawUpstreamInput(context.random);
    });
  },
  replay: (input, context) => replayAlone(context, PLAN, input),
  shrink: shrinkReply,
};

interface Fixture {
  /** The gateway for streams of this mode. */
  open(mode: StreamMode | undefined): WatchedGateway;
  /** Closes all gateways. Returns the rule that one of them breaks. */
  close(): Promise<string | undefined>;
  /** Sets the response of the provider, and which of its next calls get a valid one. */
  setReply(reply: UpstreamResponse, validCalls: readonly boolean[]): void;
  countCalls(): number;
}

const PLAN: BatchPlan<Fixture, UpstreamInput> = {
  size: 200,
  figure: "inputs",
  open: async () => openFixture(),
  tryInput: tryReply,
  close: (fixture) => fixture.close(),
};

function openFixture(): Fixture {
  let current: UpstreamResponse = { status: 500, headers: {}, chunks: [] };
  let isValid: boolean[] = [];
  const provider = createSimulatedProvider(() => (isValid.shift() === true ? VALID_CALL : current));
  const gateways = new Map<StreamMode | undefined, WatchedGateway>();
  return {
    open(mode) {
      const watched = gateways.get(mode) ?? openWatchedGateway(transportOf(mode, provider), optionsOf(mode));
      gateways.set(mode, watched);
      return watched;
    },
    async close() {
      const rules = await Promise.all([...gateways.values()].map((watched) => watched.close()));
      return rules.find((rule) => rule !== undefined);
    },
    setReply(reply, validCalls) {
      current = reply;
      isValid = [...validCalls];
    },
    countCalls: () => provider.takeCalls().length,
  };
}

/** The response to one of several upstream calls. */
const VALID_CALL: UpstreamResponse = {
  status: 200,
  headers: { "content-type": "application/json" },
  chunks: [Buffer.from(writeImageReply({ images: 1, form: "qwen-image" }))],
};

const HEARTBEAT_MS = 2;
/** How late a provider is whose streams begin early. */
const LATE_MS = 6;

function isEarly(mode: StreamMode | undefined): boolean {
  return mode?.startsWith("early") === true;
}

function optionsOf(mode: StreamMode | undefined): Partial<GatewayOptions> {
  return {
    ...(mode?.endsWith("openai") === true && { streamFormat: "openai" }),
    ...(isEarly(mode) && { heartbeatSeconds: HEARTBEAT_MS / 1000 }),
  };
}

function transportOf(mode: StreamMode | undefined, { transport }: SimulatedProvider): Transport {
  if (!isEarly(mode)) return transport;
  return {
    ...transport,
    async send(request) {
      await pause(LATE_MS);
      return transport.send(request);
    },
  };
}

async function tryReply(fixture: Fixture, input: UpstreamInput): Promise<Finding<UpstreamInput> | undefined> {
  const watched = fixture.open(input.mode);
  const body = insertKey(fromBytes(input.body), "$CHANNEL_KEY", CHANNEL_KEY);
  const reply: UpstreamResponse = {
    status: input.status,
    headers: Object.fromEntries(
      Object.entries(input.headers).map(([name, value]) => [name, replaceKey(value)]),
    ),
    chunks: cutAt(body, input.cuts),
    failure: toFailure(input.ending),
  };
  fixture.setReply(reply, input.validCalls ?? []);
  const work = sendRequest(watched, toRequest(input));
  if (work === undefined) return undefined;
  if (!(await settles(work))) return { rule: "every upstream response gives a response", input };
  const seen = await work;
  const rule =
    ((await watched.holdsEnd()) ? undefined : "every hold ends") ??
    checkResponse(input, seen) ??
    checkMoney(input, { watched, calls: fixture.countCalls() }, body) ??
    checkKeys(watched, seen);
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function toFailure(ending: UpstreamInput["ending"]): Error | undefined {
  if (ending === "ends") return undefined;
  return new TransportError(ending === "breaks" ? "broken" : "timeout", undefined);
}

function replaceKey(text: string): string {
  return text.replaceAll("$CHANNEL_KEY", CHANNEL_KEY);
}

function toRequest({ request, reader }: UpstreamInput): RequestInput {
  return { ...createJsonRequest(request.body, request.path), reader };
}

function checkResponse(input: UpstreamInput, seen: SeenResponse): string | undefined {
  const { status, failure } = seen;
  const isLeft = failure instanceof ClientLeft;
  if (input.makes !== null && status !== 200) return "a valid upstream response gives images";
  if (countValid(input) > 0 && status !== 200)
    return "a valid response to one of several calls gives its image";
  if (input.makes !== null && failure !== undefined && !isLeft)
    return "a valid upstream response does not break off";
  if (status === 429 && readCode(seen) === "rate_limit_exceeded")
    return "the slot of the request before is free";
  if (status >= 500 && status !== 502 && status !== 504) return "a provider's failure is a 502 or a 504";
  if (isInOpenAiFormat(input) && status === 200 && failure === undefined)
    return checkOpenAiEvents(input, seen);
  if (input.makes !== null && !isLeft && isStream(input)) return checkRelay(input, seen);
  return findBrokenRule(seen, input.makes === null ? "provider" : undefined);
}

/** The number of calls that get a valid response, if there are several. */
function countValid({ validCalls = [] }: UpstreamInput): number {
  return validCalls.filter(Boolean).length;
}

function isStream({ request }: UpstreamInput): boolean {
  return request.body["stream"] === true;
}

/** Without a byte order mark, which a stream that begins early does not have. */
const withoutMark = (text: string): string => text.replace(/^\ufeff/, "");

function checkRelay(input: UpstreamInput, seen: SeenResponse): string | undefined {
  const sent = fromBytes(input.body);
  const isSame = isEarly(input.mode)
    ? // On a slow machine the provider may still come before the stream has begun.
      withoutMark(withoutComments(seen.body)) === withoutMark(sent.toString())
    : seen.body.equals(sent);
  return isSame ? findBrokenRule(seen) : "a valid stream is relayed byte by byte";
}

function withoutComments(body: Buffer): string {
  return body.toString().replaceAll(": keep-alive\n\n", "");
}

function isInOpenAiFormat({ request, mode }: UpstreamInput): boolean {
  return request.body["stream"] === true && request.path === GENERATIONS && mode?.endsWith("openai") === true;
}

/** The gateway writes these events itself, so they are valid whatever the provider sends. */
function checkOpenAiEvents(input: UpstreamInput, { body }: SeenResponse): string | undefined {
  const events: { readonly event: string | undefined; readonly data: string }[] = [];
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) });
  parser.feed(body.toString());
  if (!body.toString().endsWith("\n\n")) return "a stream in OpenAI's format ends after an event";
  const last = events.pop();
  const isDone = last?.data === "[DONE]";
  if (!isDone && last?.event !== "error")
    return "a stream in OpenAI's format ends with [DONE] or an error event";
  for (const { event = "", data } of isDone || last === undefined ? events : [...events, last]) {
    if (!EVENT_NAMES.has(event)) return "an event in OpenAI's format has a name of that format";
    if (!isJsonObject(data)) return "the data of an event in OpenAI's format is a JSON object";
  }
  const images = events.filter(({ event }) => event === "image_generation.completed");
  if (images.some(({ data }) => !/"(?:b64_json|url)":/.test(data)))
    return "each completed event has its image";
  const { makes } = input;
  if (isDone && images.length < countValid(input))
    return "a valid response to one of several calls gives its image";
  if (makes === null) return undefined;
  return isDone && images.length === makes ? undefined : "a valid upstream response gives all its images";
}

const EVENT_NAMES: ReadonlySet<string> = new Set([
  "image_generation.completed",
  "image_generation.usage",
  "error",
]);

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** What a request has left. */
interface Traces {
  readonly watched: WatchedGateway;
  /** The number of calls of the provider. */
  readonly calls: number;
}

function checkMoney(input: UpstreamInput, { watched, calls }: Traces, body: Buffer): string | undefined {
  const records = watched.takeRecords();
  const held = watched.takeHeld();
  const { validCalls, reader } = input;
  const expected = validCalls?.length ?? 1;
  // A client that leaves stops the calls that were not sent.
  if (calls !== expected && reader === "reads") return "the provider is called once for each image of a call";
  const [record] = records;
  if (record === undefined || records.length > 1) return "one record for one call of the provider";
  const charge = Number(record.charge);
  if (input.makes !== null) {
    return charge === input.makes * PRICE ? undefined : "a valid upstream response is charged by its images";
  }
  const valid = countValid(input);
  const shown = (valid + (expected - valid) * countImages(body)) * PRICE;
  if (reader === "reads" && charge < valid * PRICE)
    return "each valid response to one of several calls is charged";
  return charge >= 0 && charge <= Math.max(held, shown)
    ? undefined
    : "a charge is at most the hold or the images shown";
}

/** An upper limit of the images in a body: the number of keys that may hold one. */
function countImages(body: Buffer): number {
  const text = body.toString("latin1").replaceAll(/\\u([\da-f]{4})/gi, (_, code: string) => {
    return String.fromCharCode(Number.parseInt(code, 16));
  });
  return [...text.matchAll(/"(?:url|b64_json|image)"/g)].length;
}

function checkKeys(watched: WatchedGateway, seen: SeenResponse): string | undefined {
  const output = watched.takeOutput();
  const shown = `${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${output}`;
  return findKeys(shown).length > 0 ? "no key is in any output" : undefined;
}

/** Simpler responses: no cuts, a plain head, a complete body, a shorter body. A valid response loses only its cuts. */
function* shrinkReply(input: UpstreamInput): Iterable<UpstreamInput> {
  if (input.cuts.length > 0) yield { ...input, cuts: [] };
  for (const cut of input.cuts) yield { ...input, cuts: input.cuts.filter((other) => other !== cut) };
  if (input.reader !== "reads") yield { ...input, reader: "reads" };
  if (input.mode === "early openai") yield { ...input, mode: "openai" };
  if (input.makes !== null) return;
  if (input.ending !== "ends") yield { ...input, ending: "ends" };
  if (input.status !== 200) yield { ...input, status: 200 };
  for (const name of Object.keys(input.headers)) {
    yield {
      ...input,
      headers: Object.fromEntries(Object.entries(input.headers).filter(([other]) => other !== name)),
    };
  }
  for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
}
