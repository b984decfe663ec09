import type { Commit } from "../billing/commit.js";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import type { GatewayResponse } from "../http.js";
import type { ImageResult, ResultError } from "../types.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { DownloadError } from "../upstream/download.js";
import { encodeText } from "../util/utf8.js";
import { type Call, type CallParts, checkCharged, cutOffError, toContext } from "./call.js";
import { renderStream, toEnvelope } from "./envelope.js";
import {
  addReports,
  type CallEnd,
  type FailedCall,
  findRefusal,
  isMade,
  runCalls,
  settle,
  toBroken,
  toErrors,
  toOutcome,
  toRefused,
  withoutRetry,
} from "./fan-out-calls.js";
import { ImageBudget } from "./image-budget.js";
import type { JsonReader } from "./json-reader.js";
import { Reading } from "./json-reading.js";
import { OpenAiEvents, type StreamSummary } from "./openai-events.js";
import { streamPieces } from "./pieces.js";
import { Relay } from "./relay.js";
import { listErrors } from "./response-facts.js";
import { StreamClient } from "./stream-client.js";

/**
 * Responds as `respondWithFanOut`, with a stream in OpenAI's format: each image is sent when its call has a response. A
 * response is read while it is sent, so no image is held; the responses after it wait for their turn. If the client
 * disconnects, the calls that were sent run to their end and are charged.
 *
 * @throws GatewayError the error of the first call if no call made an image
 */
export async function respondWithFanOutStream(
  parts: CallParts,
  call: Call,
  commit: Commit,
): Promise<GatewayResponse> {
  const events = new OpenAiEvents(call.request.operation, Math.floor(parts.now() / 1000));
  const leaving = new StreamClient(call.client);
  const unread = new AbortController();
  const leave = (): void => {
    leaving.leave();
    unread.abort();
  };
  const responses = new WaitingResponses();
  const running = runCalls(parts, { ...call, client: leaving }, commit, (ownCall, result) =>
    result.ok ? responses.add({ call: ownCall, success: result }) : responses.addRefused(toRefused(result)),
  ).finally(() => responses.end());
  /** Set when all calls have ended. */
  let ends: readonly CallEnd[] | undefined;
  const chunks = sendImages({
    parts,
    events,
    responses,
    unread: unread.signal,
    leave,
    maxImages: call.request.maxImages,
  });
  const source = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* chunks;
    } finally {
      responses.refuse();
      ends = await running;
    }
    if (events.images > 0 && commit.isGivenUp) throw cutOffError();
  };
  const sent = source();
  // The head of the response is sent with the first image. Without an image the response is an error.
  const first = await sent.next();
  if (first.done === true) {
    const error = findRefusal(ends ?? []) ?? ends?.[0]?.error ?? cutOffError();
    const { isNothingMade } = await settle(call, commit, { ends: ends ?? [], error });
    throw isNothingMade ? error : withoutRetry(error);
  }
  const body = new Relay(sent, {
    first: [first.value],
    pass: (chunk) => [chunk],
    passEnd: () => [encodeText(events.end(summarize(ends ?? [], parts)))],
    async onEnd(end) {
      const error = end.reason === "failed" ? toStreamError(end.error) : undefined;
      if (error !== undefined) call.report.failed(error);
      // The gateway itself failed: what the calls made is not known.
      if (ends === undefined) {
        call.logger.error(
          { err: error?.cause },
          "A stream of several calls failed in the gateway or in a family.",
        );
        return commit.giveUp();
      }
      const { state } = await settle(call, commit, { ends, error, status: 200 });
      if (error === undefined) checkCharged(state);
    },
    passFailure(error) {
      const failed = events.fail(toEnvelope(toStreamError(error), parts.redact));
      return failed === undefined ? undefined : encodeText(failed);
    },
    onAbandoned(stream) {
      leave();
      call.keepAlive(stream.readToEnd());
    },
    beat: () => events.beat(),
    heartbeatMs: parts.heartbeatMs,
  });
  return renderStream(body, toContext(call));
}

/** The response of one call, before it is read. */
interface OpenResponse {
  readonly call: Call;
  readonly success: UpstreamSuccess;
}

interface WaitingResponse extends OpenResponse {
  /** Ends the turn of the call. */
  readonly end: (end: CallEnd) => void;
  readonly fail: (error: unknown) => void;
}

/** Responses that wait until those before them have been read. */
class WaitingResponses implements AsyncIterable<WaitingResponse> {
  /** The number of calls that have no response. */
  refused = 0;
  readonly #waiting: WaitingResponse[] = [];
  #hasEnded = false;
  #isRefused = false;
  #wake: () => void = () => {};

  /** Resolves when the response has been read. */
  add(response: OpenResponse): Promise<CallEnd> {
    const { promise, resolve, reject } = Promise.withResolvers<CallEnd>();
    if (this.#isRefused) reject(unreadError());
    else this.#waiting.push({ ...response, end: resolve, fail: reject });
    this.#wake();
    return promise;
  }

  /** Counts a call that has no response. */
  addRefused(end: CallEnd): CallEnd {
    this.refused++;
    return end;
  }

  /** No response is read any more. Those that wait fail. */
  refuse(): void {
    this.#isRefused = true;
    for (const { fail } of this.#waiting.splice(0)) fail(unreadError());
  }

  /** No further response comes. */
  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WaitingResponse> {
    while (true) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      if (this.#hasEnded) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }
}

interface Sending {
  readonly parts: CallParts;
  readonly events: OpenAiEvents;
  readonly responses: WaitingResponses;
  /** Aborted when nothing more is sent to the client. */
  readonly unread: AbortSignal;
  /** Sends no further call, and no further image. */
  readonly leave: () => void;
  /** The largest number of images of all calls. */
  readonly maxImages: number;
}

/**
 * Reads the responses one after another and sends their images. If one breaks off in the middle of an image, the stream
 * is broken: no further call is sent, the other responses are read without sending them, and then this throws.
 */
async function* sendImages({
  parts,
  events,
  responses,
  unread,
  leave,
  maxImages,
}: Sending): AsyncGenerator<Uint8Array> {
  let flaw: GatewayError | undefined;
  let failed = 0;
  for await (const response of responses) {
    const unsent = flaw === undefined ? undefined : new OpenAiEvents("generate", 0);
    let end: CallEnd;
    try {
      const reading = readImages(parts, response, unsent ?? events, unread);
      let next = await reading.next();
      while (next.done !== true) {
        if (unsent === undefined) yield next.value;
        next = await reading.next();
      }
      end = next.value;
    } catch (error) {
      // The gateway itself failed. The call must end, because all calls are awaited.
      response.fail(error);
      throw error;
    }
    if (!isMade(end)) failed++;
    // If the client has left, an image is not downloaded to its end.
    const isUnread = unread.aborted && isMade(end);
    if (flaw === undefined && events.isInsideImage && !isUnread) {
      flaw = end.error ?? unreadError();
      leave();
    }
    // Only the last image that can come waits for the usage.
    const closed =
      flaw === undefined && events.images + failed + responses.refused < maxImages ? events.closeImage() : "";
    if (closed !== "") yield encodeText(closed);
    response.end(end);
  }
  if (flaw !== undefined) throw flaw;
}

/** Reads one response, and yields what is sent for it. */
async function* readImages(
  parts: CallParts,
  { call, success }: OpenResponse,
  events: OpenAiEvents,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, CallEnd> {
  const reading = new Reading(parts, call, success, { events });
  const { reader, staged } = reading;
  // A store gets all of its images, although the client has disconnected.
  const budget = new ImageBudget(parts.maxHeldImageBytes);
  const output = { ...reading.output, budget, signal: staged ? undefined : signal };
  try {
    if (reading.parsed === undefined) {
      for await (const chunk of success.response.body) {
        yield* streamPieces(output, reader.push(chunk));
        await staged?.early?.drain();
      }
    }
    yield* streamPieces(output, reader.complete());
  } catch (flaw) {
    staged?.cancel(flaw);
    // The image was made, and the provider's link broke off.
    if (flaw instanceof DownloadError) return toEnd(reading);
    const broken = toBroken(reading, flaw);
    return reader.facts.made.length === 0 ? broken : toIncomplete(reader, broken, parts);
  }
  return toEnd(reading);
}

function toEnd(reading: Reading): CallEnd {
  const { delivery, requestId: upstreamRequestId } = reading;
  const { facts } = reading.reader;
  const { sentTo } = reading.success;
  const { images, made, usage } = facts;
  const known = { made, usage, upstreamRequestId, isConclusive: true };
  // A failure beside images is in `extra.errors`.
  const error = images > 0 ? undefined : reading.findRefusal();
  if (error !== undefined) {
    return { kind: "failed", sentTo, outcome: toOutcome(error, known), error };
  }
  const result: ImageResult = { images: [], errors: listErrors(facts, delivery.errors.list), fields: {} };
  const refusal = delivery.errors.findRefusal(images);
  return { kind: "made", sentTo, outcome: { status: 200, images, ...known }, result, refusal };
}

/** A call whose response broke off after its image. The client has that image, so it is charged. */
function toIncomplete(
  { facts }: JsonReader,
  { sentTo, outcome, error }: FailedCall,
  { redact }: Pick<CallParts, "redact">,
): CallEnd {
  const { made, usage = { generated_images: made.length } } = facts;
  const { upstreamRequestId } = outcome;
  const reason: ResultError = { index: 0, code: redact(shownCodeOf(error)), message: redact(error.message) };
  return {
    kind: "made",
    sentTo,
    outcome: { status: 200, images: made.length, made, usage, upstreamRequestId },
    result: { images: [], errors: [...facts.errors, reason], fields: {} },
  };
}

/** The reports of all calls together, and the calls without an image. */
function summarize(ends: readonly CallEnd[], { redact }: Pick<CallParts, "redact">): StreamSummary {
  const reports = ends.flatMap((end) => (end.kind === "unreached" ? [] : (end.outcome.usage ?? [])));
  return {
    usage: reports.reduce<unknown>(addReports, undefined),
    errors: ends.flatMap((end, index) => toErrors(end, { index, redact })),
  };
}

function unreadError(): GatewayError {
  const message = "An image broke off while it was sent.";
  return new GatewayError("upstream_invalid_response", message, { shouldRetry: false });
}

function toStreamError(cause: unknown): GatewayError {
  return isGatewayError(cause) ? cause : new GatewayError("internal_error", "The gateway failed.", { cause });
}
