import { isDeepStrictEqual } from "node:util";
import { type Plan, replayAlone } from "./batches.ts";
import { findBrokenRule, readCode, type Seen } from "./check-response.ts";
import { fromBytes, shrinkBytes, toBytes } from "./grammar/bytes.ts";
import type { Random } from "./grammar/draw.ts";
import { drawVariant, GENERATIONS, type RequestInput, SEEDREAM } from "./grammar/requests.ts";
import type { Finding, PartContext } from "./part.ts";
import { ClientLeft, describeSeen, sendRequest } from "./send-request.ts";
import {
  createSimulatedProvider,
  headOf,
  type ProviderCall,
  readMaking,
  type SimulatedProvider,
  writeMaking,
} from "./simulated-provider.ts";
import { createTicker, findKeys, openSubject, PRICE, type Subject, settles, type Ticker } from "./subject.ts";
import { toRecord } from "./to-record.ts";

/** Of inputs that are sent a second time in another form. */
const VARIANT_SHARE = 0.1;
/** A body that has stalled is given up within this time. */
const PATIENCE_SECONDS = 60;
/** Variants that a replay compares. */
const VARIANT_TRIES = 20;
/** No body under 1 MB may block for more than 50 ms; this is CPU time, with room for garbage collection. */
const MAX_BLOCKED_MS = 300;
const MAX_BYTES_IN_FLIGHT = 1024 * 1024;

/** Requests are tried on gateways in front of a provider that makes what it is asked for. */
export const REQUEST_PLAN: Plan<RequestBench, RequestInput> = {
  size: 300,
  figure: "inputs",
  open: async () => openBench(),
  async tryInput(bench, input, random) {
    const found = await tryRequest(bench, input);
    if (found !== undefined || random() >= VARIANT_SHARE) return found;
    return compareVariant(bench, input, random);
  },
  close: closeBench,
};

/** Tries one request on a gateway of its own, and several variants of it. */
export async function replayRequest(context: PartContext<RequestInput>, input: RequestInput): Promise<void> {
  await replayAlone(context, REQUEST_PLAN, input);
  const bench = openBench();
  // Which variant shows a difference depends on chance.
  for (let tries = 0; tries < VARIANT_TRIES; tries += 1) {
    const found = await compareVariant(bench, input, context.random);
    if (found !== undefined) return context.report(found);
  }
  await bench.subject.close();
}

/** Simpler requests: no cuts, fewer headers, a shorter body. A valid request keeps its body. */
export function* shrinkRequest(input: RequestInput): Iterable<RequestInput> {
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

interface RequestBench {
  readonly subject: Subject;
  readonly provider: SimulatedProvider;
  readonly ticker: Ticker;
}

function openBench(): RequestBench {
  const provider = createSimulatedProvider((call) => {
    const making = readMaking(call);
    return { ...headOf(making), chunks: [Buffer.from(writeMaking(making))] };
  });
  const ticker = createTicker();
  const subject = openSubject(provider.transport, { maxBytesInFlight: MAX_BYTES_IN_FLIGHT }, ticker);
  return { subject, provider, ticker };
}

/** The rule that an input breaks, if any. */
async function tryRequest(
  { subject, provider, ticker }: RequestBench,
  input: RequestInput,
): Promise<Finding<RequestInput> | undefined> {
  const before = process.threadCpuUsage();
  const work = sendRequest(subject, input);
  const { user, system } = process.threadCpuUsage(before);
  if (work === undefined) return undefined;
  if (input.ending === "stalls") await ticker.pass(PATIENCE_SECONDS);
  if (!(await settles(work))) return { rule: "every request gets a response", input };
  const seen = await work;
  const isEnded = await subject.holdsEnd();
  const calls = provider.takeCalls();
  const rule =
    ((user + system) / 1000 > MAX_BLOCKED_MS ? "no body blocks the process" : undefined) ??
    (isEnded ? undefined : "every hold ends") ??
    judgeResponse(input, seen) ??
    judgeMoney(subject, calls) ??
    judgeForwarded(input, calls) ??
    judgeKeys(seen, subject, calls);
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function judgeResponse(input: RequestInput, seen: Seen): string | undefined {
  const { status, failure } = seen;
  if (failure !== undefined && !(failure instanceof ClientLeft)) return "a response does not break off";
  if (status === 429) return "the slot of the request before is free";
  if (status >= 500) return "bad input is never a 5xx";
  if (input.isValid && status !== 200) return "a valid request gets images";
  return findBrokenRule(seen);
}

function judgeMoney(subject: Subject, calls: readonly ProviderCall[]): string | undefined {
  const records = subject.takeRecords();
  if (records.length !== Math.min(1, calls.length))
    return "one record if and only if the provider was called";
  const images = calls.reduce((sum, call) => sum + readMaking(call).images, 0);
  const charge = records.reduce((sum, record) => sum + Number(record.charge), 0);
  return charge === images * PRICE ? undefined : "the charge is that of the images made";
}

function judgeForwarded({ forwards }: RequestInput, calls: readonly ProviderCall[]): string | undefined {
  if (forwards === undefined) return undefined;
  const sent = toRecord(JSON.parse(calls[0]?.body ?? "null"));
  const isSame = Object.entries(forwards).every(([name, value]) => isDeepStrictEqual(sent[name], value));
  return isSame ? undefined : "a valid field is forwarded as sent";
}

function judgeKeys(seen: Seen, subject: Subject, calls: readonly ProviderCall[]): string | undefined {
  const output = subject.takeOutput();
  const shown = `${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${output}`;
  if (findKeys(shown).length > 0) return "no key is in any output";
  const forwarded = calls.map(({ headers }) => JSON.stringify(headers)).join("");
  const isForwarded = findKeys(forwarded).some((key) => key.startsWith("caller"));
  return isForwarded ? "no caller key goes to the provider" : undefined;
}

/** The same request with other cuts and, if it is JSON, other white space has the same effect. */
async function compareVariant(
  bench: RequestBench,
  input: RequestInput,
  random: Random,
): Promise<Finding<RequestInput> | undefined> {
  const variant = drawVariant(random, input);
  if (variant === undefined) return undefined;
  const results: unknown[] = [];
  for (const request of [input, variant]) {
    const work = sendRequest(bench.subject, request);
    if (work !== undefined && !(await settles(work)))
      return { rule: "every request gets a response", input: request };
    const seen = await work;
    await bench.subject.holdsEnd();
    bench.subject.takeOutput();
    bench.subject.takeRecords();
    const sent = bench.provider.takeCalls().map(({ body }): unknown => JSON.parse(body));
    results.push({ status: seen?.status, code: seen && readCode(seen), sent });
  }
  if (isDeepStrictEqual(results[0], results[1])) return undefined;
  const seen = JSON.stringify(results).slice(0, 2_000);
  return { rule: "cuts and white space of a body change nothing", input, seen };
}

/** Sends a request that needs all bytes in flight and the only slot, then closes the gateway. The rule that is broken. */
async function closeBench({ subject }: RequestBench): Promise<string | undefined> {
  largestProbe ??= findLargestProbe();
  const work = sendRequest(subject, toProbe(await largestProbe));
  const seen = work && (await settles(work)) ? await work : undefined;
  const problem = await subject.close();
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
    const { subject } = openBench();
    const seen = await sendRequest(subject, toProbe(length));
    await subject.close();
    if (seen?.status === 200) fits = length;
    else tooLong = length;
  }
  return fits;
}

function toProbe(length: number): RequestInput {
  return {
    via: "handle",
    method: "POST",
    path: GENERATIONS,
    headers: [
      ["authorization", "Bearer $CALLER_KEY"],
      ["content-type", "application/json"],
    ],
    body: { text: JSON.stringify({ model: SEEDREAM, prompt: "x".repeat(length) }) },
    cuts: [],
    ending: "whole",
    reader: "reads",
    isValid: true,
  };
}
