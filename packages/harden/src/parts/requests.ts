import { isDeepStrictEqual } from "node:util";
import { type BatchPlan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, readCode, type SeenResponse } from "../check-response.ts";
import { fromBytes, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import type { Random } from "../grammar/draw.ts";
import { drawFormRequest } from "../grammar/forms.ts";
import {
  createJsonRequest,
  drawJsonRequest,
  drawVariant,
  type RequestInput,
  SEEDREAM,
} from "../grammar/requests.ts";
import type { Finding, Part, PartContext } from "../part.ts";
import { ClientLeft, describeSeen, sendRequest } from "../send-request.ts";
import {
  createSimulatedProvider,
  makeImages,
  type ProviderCall,
  planReply,
  type SimulatedProvider,
} from "../simulated-provider.ts";
import { toRecord } from "../to-record.ts";
import {
  createTicker,
  findKeys,
  openWatchedGateway,
  PRICE,
  settles,
  type Ticker,
  type WatchedGateway,
} from "../watched-gateway.ts";

/** Requests with a JSON body, in process. */
export const requests: Part<RequestInput> = {
  name: "requests",
  guarantees:
    "Sends JSON requests to all endpoints through `gateway.fetch` and `gateway.handle`. They are valid, or " +
    "changed in method, path, headers, structure, types, numbers, strings, depth and bytes, and split into " +
    "chunks at random places. Every request gets a response: images if it is valid, otherwise the error " +
    "envelope with a documented code and never a 5xx. Afterwards its slot, its bytes and its hold are free, a " +
    "record exists if and only if the provider was called, the charge matches the images made, valid fields " +
    "arrive at the provider unchanged, and no output contains a key. Other chunks or other white space do not " +
    "change the result.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, PLAN, () => drawJsonRequest(context.random)),
  replay: (input, context) => replayRequest(context, input),
  shrink: shrinkRequest,
};

/** Multipart forms, in process. */
export const forms: Part<RequestInput> = {
  name: "forms",
  guarantees:
    "Sends multipart forms from a grammar: delimiters with padding, missing, early, nested or inside the " +
    "content, preambles and epilogues, unusual headers, file names and encodings, images under all their names, " +
    "many parts. The forms are split into chunks at random places and at every byte. Every form gets a " +
    "response, also if its last delimiter is missing or comes early. The rules of `requests` hold, and the " +
    "images of a valid form arrive at the provider unchanged and in order.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, PLAN, () => drawFormRequest(context.random)),
  replay: (input, context) => replayRequest(context, input),
  shrink: shrinkRequest,
};

/** The share of inputs that are compared with a variant. */
const VARIANT_SHARE = 0.1;
/** The gateway ends a request whose body stalls within this time. */
const MAX_STALL_SECONDS = 60;
/** Variants that a replay compares. */
const VARIANT_TRIES = 20;
/** CPU time. No body under 1 MB may block the process for more than 50 ms; the rest is for garbage collection. */
const MAX_BLOCKED_MS = 300;
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;
const NO_ROOM: ReadonlySet<unknown> = new Set(["overloaded", "request_too_large"]);

/** Sends requests to gateways whose provider makes the images that it is asked for. */
const PLAN: BatchPlan<RequestFixture, RequestInput> = {
  size: 300,
  figure: "inputs",
  open: async () => openFixture(),
  async tryInput(fixture, input, random) {
    const found = await tryRequest(fixture, input);
    if (found !== undefined || random() >= VARIANT_SHARE) return found;
    return compareVariant(fixture, input, random);
  },
  close: closeFixture,
};

/** Sends one request to a gateway of its own, and then several variants of it. */
async function replayRequest(context: PartContext<RequestInput>, input: RequestInput): Promise<void> {
  await replayAlone(context, PLAN, input);
  const fixture = openFixture();
  // Which variant shows a difference depends on chance.
  for (let tries = 0; tries < VARIANT_TRIES; tries += 1) {
    const found = await compareVariant(fixture, input, context.random);
    if (found !== undefined) return context.report(found);
  }
  await fixture.watched.close();
}

/** Simpler requests: no cuts, fewer headers, a shorter body. A valid request keeps its body. */
function* shrinkRequest(input: RequestInput): Iterable<RequestInput> {
  if (input.cuts.length > 0) yield { ...input, cuts: [] };
  for (const cut of input.cuts) yield { ...input, cuts: input.cuts.filter((other) => other !== cut) };
  if (input.ending !== "whole") yield { ...input, ending: "whole" };
  if (input.reader !== "reads") yield { ...input, reader: "reads" };
  if (input.isValid) return;
  for (const header of input.headers) {
    yield { ...input, headers: input.headers.filter((other) => other !== header) };
  }
  if (input.body === null) return;
  for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
}

interface RequestFixture {
  readonly watched: WatchedGateway;
  readonly provider: SimulatedProvider;
  readonly ticker: Ticker;
}

function openFixture(): RequestFixture {
  const provider = createSimulatedProvider(makeImages);
  const ticker = createTicker();
  const watched = openWatchedGateway(provider.transport, { maxBytesInFlight: MAX_BYTES_IN_FLIGHT }, ticker);
  return { watched, provider, ticker };
}

/** The rule that an input breaks, if any. */
async function tryRequest(
  { watched, provider, ticker }: RequestFixture,
  input: RequestInput,
): Promise<Finding<RequestInput> | undefined> {
  const before = process.threadCpuUsage();
  const work = sendRequest(watched, input);
  const { user, system } = process.threadCpuUsage(before);
  if (work === undefined) return undefined;
  if (input.ending === "stalls") await ticker.pass(MAX_STALL_SECONDS);
  if (!(await settles(work))) return { rule: "every request gets a response", input };
  const seen = await work;
  const isEnded = await watched.holdsEnd();
  const calls = provider.takeCalls();
  const rule =
    ((user + system) / 1000 > MAX_BLOCKED_MS ? "no body blocks the process" : undefined) ??
    (isEnded ? undefined : "every hold ends") ??
    checkResponse(input, seen) ??
    checkMoney(watched, calls) ??
    checkForwarded(input, calls) ??
    checkKeys(seen, watched, calls);
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function checkResponse(input: RequestInput, seen: SeenResponse): string | undefined {
  const { status, failure } = seen;
  if (failure !== undefined && !(failure instanceof ClientLeft)) return "a response does not break off";
  if (status === 429) return "the slot of the request before is free";
  if (status >= 500) return "bad input is never a 5xx";
  if (input.isValid && status !== 200) return "a valid request gets images";
  // Web hosts leave out the body of a response to HEAD.
  if (input.method === "HEAD" && seen.body.length === 0) return undefined;
  return findBrokenRule(seen);
}

function checkMoney(watched: WatchedGateway, calls: readonly ProviderCall[]): string | undefined {
  const records = watched.takeRecords();
  if (records.length !== Math.min(1, calls.length))
    return "one record if and only if the provider was called";
  const images = calls.reduce((sum, call) => sum + planReply(call).images, 0);
  const charge = records.reduce((sum, record) => sum + Number(record.charge), 0);
  return charge === images * PRICE ? undefined : "the charge is that of the images made";
}

function checkForwarded({ forwards }: RequestInput, calls: readonly ProviderCall[]): string | undefined {
  if (forwards === undefined) return undefined;
  const sent = toRecord(JSON.parse(calls[0]?.body ?? "null"));
  const isSame = Object.entries(forwards).every(([name, value]) => isDeepStrictEqual(sent[name], value));
  return isSame ? undefined : "a valid field is forwarded as sent";
}

function checkKeys(
  seen: SeenResponse,
  watched: WatchedGateway,
  calls: readonly ProviderCall[],
): string | undefined {
  const output = watched.takeOutput();
  const shown = `${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${output}`;
  if (findKeys(shown).length > 0) return "no key is in any output";
  const forwarded = calls.map(({ headers }) => JSON.stringify(headers)).join("");
  const isForwarded = findKeys(forwarded).some((key) => key.startsWith("caller"));
  return isForwarded ? "no caller key goes to the provider" : undefined;
}

/** The same request with other cuts and, if it is JSON, other white space has the same effect. */
async function compareVariant(
  fixture: RequestFixture,
  input: RequestInput,
  random: Random,
): Promise<Finding<RequestInput> | undefined> {
  const variant = drawVariant(random, input);
  if (variant === undefined) return undefined;
  const results: unknown[] = [];
  for (const request of [input, variant]) {
    const work = sendRequest(fixture.watched, request);
    if (work !== undefined && !(await settles(work)))
      return { rule: "every request gets a response", input: request };
    const seen = await work;
    await fixture.watched.holdsEnd();
    fixture.watched.takeOutput();
    fixture.watched.takeRecords();
    const sent = fixture.provider.takeCalls().map(({ body }): unknown => JSON.parse(body));
    results.push({ status: seen?.status, code: seen && readCode(seen), sent });
  }
  if (isDeepStrictEqual(results[0], results[1])) return undefined;
  // White space may make the body larger than the limit of bytes in flight.
  if (results.some((result) => NO_ROOM.has(toRecord(result)["code"]))) return undefined;
  const seen = JSON.stringify(results).slice(0, 2_000);
  return { rule: "cuts and white space of a body change nothing", input, seen };
}

/** Sends a request that needs all bytes in flight and the only slot, then closes the gateway. The rule that is broken. */
async function closeFixture({ watched }: RequestFixture): Promise<string | undefined> {
  largestProbe ??= findLargestProbe();
  const work = sendRequest(watched, toProbe(await largestProbe));
  const seen = work && (await settles(work)) ? await work : undefined;
  const problem = await watched.close();
  if (seen?.status === 200) return problem;
  const status = seen === undefined ? "no response" : `${seen.status} ${readCode(seen)}`;
  return `all bytes in flight and all slots are free at the end (${status})`;
}

let largestProbe: Promise<number> | undefined;

/** The length of the longest prompt that a fresh gateway takes: its request needs nearly all bytes in flight. */
async function findLargestProbe(): Promise<number> {
  let [fits, tooLong] = [1, MAX_BYTES_IN_FLIGHT];
  while (tooLong - fits > 16) {
    const length = Math.floor((fits + tooLong) / 2);
    const { watched } = openFixture();
    const seen = await sendRequest(watched, toProbe(length));
    await watched.close();
    if (seen?.status === 200) fits = length;
    else tooLong = length;
  }
  return fits;
}

function toProbe(length: number): RequestInput {
  return createJsonRequest({ model: SEEDREAM, prompt: "x".repeat(length) });
}
