import { inspect } from "node:util";
import { findBrokenRule, readCode, type Seen } from "../check-response.ts";
import { fromBytes, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { drawJsonRequest, GENERATIONS, type RequestInput, SEEDREAM } from "../grammar/requests.ts";
import type { Finding, Part, PartContext } from "../part.ts";
import { ClientLeft, sendRequest } from "../send-request.ts";
import {
  createSimulatedProvider,
  headOf,
  type ProviderCall,
  readMaking,
  type SimulatedProvider,
  writeMaking,
} from "../simulated-provider.ts";
import { findKeys, openSubject, PRICE, type Subject, settlesWithin } from "../subject.ts";

/** Inputs that one gateway gets before it is probed and closed. */
const BATCH = 300;
const MAX_RESPONSE_MS = 5_000;
/** No body under 1 MB may block for more than 50 ms; this leaves room for a busy machine. */
const MAX_BLOCKED_MS = 300;
const MAX_BYTES_IN_FLIGHT = 256 * 1024;

/** Requests with a JSON body, in process. */
export const requests: Part<RequestInput> = {
  name: "requests",
  guarantees:
    "JSON requests to all endpoints, valid or changed in method, path, headers, structure, types, numbers, strings, " +
    "depth and bytes, cut into chunks at random places, through `gateway.fetch` and `gateway.handle`. Every request gets a response " +
    "in time: images if it is valid, else the error envelope with a documented code and never a 5xx. Afterwards its slot, its bytes " +
    "and its hold are free, one record exists if and only if the provider was called, its charge is that of the images made, and no key " +
    "is in any output.",
  weight: 2,
  isParallel: true,
  run: (context) => runBatches(context, drawJsonRequest),
  replay: (input, context) => replayAlone(context, input),
  shrink: shrinkRequest,
};

/** Draws and tries inputs, a gateway for each batch. */
async function runBatches(
  context: PartContext<RequestInput>,
  draw: (random: PartContext["random"]) => RequestInput,
): Promise<void> {
  while (!context.isOver()) {
    const bench = openBench();
    const tried: RequestInput[] = [];
    while (tried.length < BATCH && !context.isOver()) {
      const input = draw(context.random);
      tried.push(input);
      context.begin(input);
      context.count("inputs");
      const found = await tryRequest(bench, input);
      if (found !== undefined) {
        await context.report(found);
        break;
      }
    }
    const problem = await closeBench(bench);
    if (problem !== undefined) await reportCulprit(context, tried, problem);
  }
}

/** One input on a gateway of its own. */
async function replayAlone(context: PartContext<RequestInput>, input: RequestInput): Promise<void> {
  const bench = openBench();
  const found = await tryRequest(bench, input);
  if (found !== undefined) await context.report(found);
  const problem = await closeBench(bench);
  if (problem !== undefined) await context.report({ rule: problem, input });
}

/** Blames the input that alone has the same effect as the batch. */
async function reportCulprit(
  context: PartContext<RequestInput>,
  tried: readonly RequestInput[],
  problem: string,
): Promise<void> {
  for (const input of tried.toReversed()) {
    const bench = openBench();
    await tryRequest(bench, input);
    if ((await closeBench(bench)) === problem) return context.report({ rule: problem, input });
  }
  const [input] = tried.slice(-1);
  if (input !== undefined) {
    await context.report({
      rule: problem,
      input,
      seen: "No input of its batch does this alone; run the seed again.",
    });
  }
}

interface Bench {
  readonly subject: Subject;
  readonly provider: SimulatedProvider;
}

function openBench(): Bench {
  const provider = createSimulatedProvider((call) => {
    const making = readMaking(call);
    return { ...headOf(making), chunks: [Buffer.from(writeMaking(making))] };
  });
  return { subject: openSubject(provider.transport, { maxBytesInFlight: MAX_BYTES_IN_FLIGHT }), provider };
}

/** The rule that an input breaks, if any. */
async function tryRequest(bench: Bench, input: RequestInput): Promise<Finding<RequestInput> | undefined> {
  const { subject, provider } = bench;
  const began = performance.now();
  const work = sendRequest(subject, input);
  const blockedMs = performance.now() - began;
  if (work === undefined) return undefined;
  if (!(await settlesWithin(work, MAX_RESPONSE_MS))) return { rule: "the response comes in time", input };
  const seen = await work;
  const isEnded = await subject.holdsEnd();
  const calls = provider.takeCalls();
  const rule =
    (blockedMs > MAX_BLOCKED_MS ? "no body blocks the process" : undefined) ??
    (isEnded ? undefined : "every hold ends") ??
    judgeResponse(input, seen) ??
    judgeMoney(subject, calls) ??
    judgeKeys(seen, subject, calls);
  return rule === undefined ? undefined : { rule, input, seen: describe(seen) };
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

function judgeKeys(seen: Seen, subject: Subject, calls: readonly ProviderCall[]): string | undefined {
  const output = subject.takeOutput();
  const shown = `${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${output}`;
  if (findKeys(shown).length > 0) return "no key is in any output";
  const forwarded = calls.map(({ headers }) => JSON.stringify(headers)).join("");
  return findKeys(forwarded).some((key) => key.startsWith("caller"))
    ? "no caller key goes to the provider"
    : undefined;
}

/** Sends a request that needs all bytes in flight and the only slot, then closes the gateway. The rule that is broken. */
async function closeBench({ subject }: Bench): Promise<string | undefined> {
  largestProbe ??= findLargestProbe();
  const seen = await sendRequest(subject, toProbe(await largestProbe));
  const code = seen && readCode(seen);
  const problem = await subject.close();
  if (seen?.status !== 200)
    return `all bytes in flight and all slots are free at the end (${seen?.status} ${code})`;
  return problem;
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

function describe({ status, headers, body, failure }: Seen): string {
  const text = body.toString().slice(0, 1_000);
  return `${status} ${JSON.stringify(headers)}\n${text}${failure === undefined ? "" : `\n${inspect(failure)}`}`;
}

/** Simpler requests: no cuts, fewer headers, a shorter body. A valid request keeps its body. */
function* shrinkRequest(input: RequestInput): Iterable<RequestInput> {
  if (input.cuts.length > 0) yield { ...input, cuts: [] };
  for (const cut of input.cuts) yield { ...input, cuts: input.cuts.filter((other) => other !== cut) };
  if (input.ending !== "whole") yield { ...input, ending: "whole" };
  if (input.reader !== "reads") yield { ...input, reader: "reads" };
  if (input.isValid) return;
  for (const header of input.headers)
    yield { ...input, headers: input.headers.filter((other) => other !== header) };
  if (input.body === null) return;
  for (const body of shrinkBytes(fromBytes(input.body))) yield { ...input, body: toBytes(body) };
}
