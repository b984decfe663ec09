import { TransportError } from "@calotype/core/testing";
import { type BatchPlan, replayAlone, runBatches } from "../batches.ts";
import { findBrokenRule, readCode, type SeenResponse } from "../check-response.ts";
import { cutAt, fromBytes, insertKey, shrinkBytes, toBytes } from "../grammar/bytes.ts";
import { createJsonRequest, type RequestInput } from "../grammar/requests.ts";
import { drawUpstreamInput, listSplits, type UpstreamInput } from "../grammar/upstream-responses.ts";
import type { Finding, Part } from "../part.ts";
import { ClientLeft, describeSeen, sendRequest } from "../send-request.ts";
import { createSimulatedProvider, type UpstreamResponse } from "../simulated-provider.ts";
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
    "leaves one record, no hold and no slot, and no output contains the key.",
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
  readonly watched: WatchedGateway;
  /** Sets the response of the provider. */
  setReply(reply: UpstreamResponse): void;
  countCalls(): number;
}

const PLAN: BatchPlan<Fixture, UpstreamInput> = {
  size: 200,
  figure: "inputs",
  open: async () => openFixture(),
  tryInput: tryReply,
  close: ({ watched }) => watched.close(),
};

function openFixture(): Fixture {
  let current: UpstreamResponse = { status: 500, headers: {}, chunks: [] };
  const provider = createSimulatedProvider(() => current);
  return {
    watched: openWatchedGateway(provider.transport),
    setReply(reply) {
      current = reply;
    },
    countCalls: () => provider.takeCalls().length,
  };
}

async function tryReply(fixture: Fixture, input: UpstreamInput): Promise<Finding<UpstreamInput> | undefined> {
  const { watched } = fixture;
  const body = insertKey(fromBytes(input.body), "$CHANNEL_KEY", CHANNEL_KEY);
  fixture.setReply({
    status: input.status,
    headers: Object.fromEntries(
      Object.entries(input.headers).map(([name, value]) => [name, replaceKey(value)]),
    ),
    chunks: cutAt(body, input.cuts),
    failure: toFailure(input.ending),
  });
  const work = sendRequest(watched, toRequest(input));
  if (work === undefined) return undefined;
  if (!(await settles(work))) return { rule: "every upstream response gives a response", input };
  const seen = await work;
  const rule =
    ((await watched.holdsEnd()) ? undefined : "every hold ends") ??
    checkResponse(input, seen) ??
    checkMoney(input, fixture, body) ??
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
  if (input.makes !== null && failure !== undefined && !isLeft)
    return "a valid upstream response does not break off";
  if (status === 429 && readCode(seen) === "rate_limit_exceeded")
    return "the slot of the request before is free";
  if (status >= 500 && status !== 502 && status !== 504) return "a provider's failure is a 502 or a 504";
  if (input.makes !== null && !isLeft && isStream(input)) return checkRelay(input, seen);
  return findBrokenRule(seen, input.makes === null ? "provider" : undefined);
}

function isStream({ request }: UpstreamInput): boolean {
  return request.body["stream"] === true;
}

function checkRelay(input: UpstreamInput, seen: SeenResponse): string | undefined {
  return seen.body.equals(fromBytes(input.body))
    ? findBrokenRule(seen)
    : "a valid stream is relayed byte by byte";
}

function checkMoney(input: UpstreamInput, fixture: Fixture, body: Buffer): string | undefined {
  const records = fixture.watched.takeRecords();
  const held = fixture.watched.takeHeld();
  if (fixture.countCalls() !== 1) return "the provider is called once";
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
