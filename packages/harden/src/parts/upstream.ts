import { TransportError } from "@calotype/core";
import { type Plan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, readCode, type Seen } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { drawReply, listSplits, type ReplyInput } from "../grammar/replies.ts";
import type { RequestInput } from "../grammar/requests.ts";
import type { Finding, Part } from "../part.ts";
import { ClientLeft, describeSeen, sendRequest } from "../send-request.ts";
import { createSimulatedProvider, type ProviderReply } from "../simulated-provider.ts";
import { CHANNEL_KEY, findKeys, openSubject, PRICE, type Subject, settles } from "../subject.ts";

/** Responses of providers, in process. */
export const upstream: Part<ReplyInput> = {
  name: "upstream",
  guarantees:
    "A provider sends responses of both families: valid streams split at every place and in every spelling; " +
    "JSON and events that are changed, cut off, doubled, reordered, enlarged or in another form; all statuses, " +
    "content types and encodings; connections that break or stall; and strings that quote the channel's key. " +
    "The client gets a valid response, a 502, a 504 or the provider's refusal. A valid response is charged by " +
    "its images. Any other response costs at least nothing, and at most the hold or the images in it. Each " +
    "leaves one record, no hold and no slot, and no output contains the key.",
  weight: 3,
  isParallel: true,
  async run(context) {
    const splits = listSplits().filter((_, index) => index % context.share.of === context.share.index);
    context.count("recorded streams, cut at one place", 0);
    let next = 0;
    await runBatches(context, PLAN, () => {
      // Every other input is one of the fixed set, from a random start, until all have been tried.
      const input = next < splits.length && context.random() < 0.5 ? splits[next++] : undefined;
      if (input !== undefined) context.count("recorded streams, cut at one place");
      return input ?? drawReply(context.random);
    });
  },
  replay: (input, context) => replayAlone(context, PLAN, input),
  shrink: shrinkReply,
};

interface Bench {
  readonly subject: Subject;
  /** What the provider replies from now on. */
  setReply(reply: ProviderReply): void;
  countCalls(): number;
}

const PLAN: Plan<Bench, ReplyInput> = {
  size: 200,
  figure: "inputs",
  open: async () => openBench(),
  tryInput: tryReply,
  close: ({ subject }) => subject.close(),
};

function openBench(): Bench {
  let current: ProviderReply = { status: 500, headers: {}, chunks: [] };
  const provider = createSimulatedProvider(() => current);
  return {
    subject: openSubject(provider.transport),
    setReply(reply) {
      current = reply;
    },
    countCalls: () => provider.takeCalls().length,
  };
}

async function tryReply(bench: Bench, input: ReplyInput): Promise<Finding<ReplyInput> | undefined> {
  const { subject } = bench;
  const body = insertKey(fromBytes(input.body), "$CHANNEL_KEY", CHANNEL_KEY);
  bench.setReply({
    status: input.status,
    headers: Object.fromEntries(
      Object.entries(input.headers).map(([name, value]) => [name, replaceKey(value)]),
    ),
    chunks: cutAt(body, input.cuts),
    failure: toFailure(input.ending),
  });
  const work = sendRequest(subject, toRequest(input));
  if (work === undefined) return undefined;
  if (!(await settles(work))) return { rule: "every upstream response gives a response", input };
  const seen = await work;
  const rule =
    ((await subject.holdsEnd()) ? undefined : "every hold ends") ??
    judgeResponse(input, seen) ??
    judgeMoney(input, bench, body) ??
    judgeKeys(subject, seen);
  return rule === undefined ? undefined : { rule, input, seen: describeSeen(seen) };
}

function toFailure(ending: ReplyInput["ending"]): Error | undefined {
  if (ending === "ends") return undefined;
  return new TransportError(ending === "breaks" ? "broken" : "timeout", undefined);
}

function replaceKey(text: string): string {
  return text.replaceAll("$CHANNEL_KEY", CHANNEL_KEY);
}

function toRequest({ ask, reader }: ReplyInput): RequestInput {
  return {
    via: "handle",
    method: "POST",
    path: ask.path,
    headers: [
      ["authorization", "Bearer $CALLER_KEY"],
      ["content-type", "application/json"],
    ],
    body: { text: JSON.stringify(ask.body) },
    cuts: [],
    ending: "whole",
    reader,
    isValid: true,
  };
}

function judgeResponse(input: ReplyInput, seen: Seen): string | undefined {
  const { status, failure } = seen;
  const isLeft = failure instanceof ClientLeft;
  if (input.makes !== null && status !== 200) return "a valid upstream response gives images";
  if (input.makes !== null && failure !== undefined && !isLeft)
    return "a valid upstream response does not break off";
  if (status === 429 && readCode(seen) === "rate_limit_exceeded")
    return "the slot of the request before is free";
  if (status >= 500 && status !== 502 && status !== 504) return "a provider's failure is a 502 or a 504";
  if (input.makes !== null && !isLeft && isStream(input)) return judgeRelay(input, seen);
  return findBrokenRule(seen, input.makes === null ? "provider" : undefined);
}

function isStream({ ask }: ReplyInput): boolean {
  return ask.body["stream"] === true;
}

function judgeRelay(input: ReplyInput, seen: Seen): string | undefined {
  return seen.body.equals(fromBytes(input.body))
    ? findBrokenRule(seen)
    : "a valid stream is relayed byte by byte";
}

function judgeMoney(input: ReplyInput, bench: Bench, body: Buffer): string | undefined {
  const records = bench.subject.takeRecords();
  const held = bench.subject.takeHeld();
  if (bench.countCalls() !== 1) return "the provider is called once";
  const [record] = records;
  if (record === undefined || records.length > 1) return "one record for one call of the provider";
  const charge = Number(record.charge);
  if (input.makes !== null) {
    return charge === input.makes * PRICE ? undefined : "a valid upstream response is charged by its images";
  }
  const shown = countImages(body) * PRICE;
  return charge >= 0 && charge <= Math.max(held, shown)
    ? undefined
    : "a charge is at most the hold or the images shown";
}

/** More than the images that a body can show: every key that holds one. */
function countImages(body: Buffer): number {
  const text = body.toString("latin1").replaceAll(/\\u([\da-f]{4})/gi, (_, code: string) => {
    return String.fromCharCode(Number.parseInt(code, 16));
  });
  return [...text.matchAll(/"(?:url|b64_json|image)"/g)].length;
}

function judgeKeys(subject: Subject, seen: Seen): string | undefined {
  const output = subject.takeOutput();
  const shown = `${JSON.stringify(seen.headers)}${seen.body.toString("latin1")}${output}`;
  return findKeys(shown).length > 0 ? "no key is in any output" : undefined;
}

/** Simpler replies: no cuts, a plain head, a whole ending, a shorter body. A valid reply keeps all but its cuts. */
function* shrinkReply(input: ReplyInput): Iterable<ReplyInput> {
  if (input.cuts.length > 0) yield { ...input, cuts: [] };
  for (const cut of input.cuts) yield { ...input, cuts: input.cuts.filter((other) => other !== cut) };
  if (input.reader !== "reads") yield { ...input, reader: "reads" };
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
