import { toRequestBounds } from "../billing/charge.js";
import type { Commit } from "../billing/commit.js";
import type { HoldEnd } from "../billing/hold.js";
import { mergeOutcomes } from "../billing/merge-outcomes.js";
import type { Outcome, RecordedMarks, SentTo } from "../billing/outcome.js";
import { MAX_UPSTREAM_CALLS_AT_ONCE } from "../channels/channel.js";
import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { Redaction } from "../redact.js";
import type { AttemptRecord, ImageRequest, ImageResult, ResultError } from "../types.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "../upstream/dispatch.js";
import { contentCodingError, readContentCoding } from "../upstream/read.js";
import { isJsonObject } from "../util/json.js";
import type { Call, CallParts } from "./call.js";
import type { Reading } from "./json-reading.js";
import { toError } from "./json-settlement.js";
import type { WaitingImages } from "./waiting-images.js";

/** The client of a request, as far as it decides whether more is sent. */
type Client = Pick<GatewayRequest, "signal">;

/** Reads the response of one of the calls, if it has one. Does not reject because of the response. */
export type EndCall = (call: Call, result: UpstreamSuccess | UpstreamRefusal) => CallEnd | Promise<CallEnd>;

/** Runs all calls of a request, a few at a time, and returns how they ended, in order. */
export async function runCalls(
  parts: CallParts,
  call: Call,
  commit: Commit,
  endCall: EndCall,
): Promise<readonly CallEnd[]> {
  const { upstreamCalls = 1 } = call.request;
  const signal = new StopSignal(call.client, commit);
  const ends: CallEnd[] = [];
  const runCall = async (index: number): Promise<CallEnd> => {
    const request = toRequestOf(call, index);
    const firstImageIndex = index * request.maxImages;
    const ownCall: Call = { ...call, request, client: { signal }, callIndex: index, firstImageIndex };
    const result = await dispatch(ownCall, commit, parts);
    try {
      return await endCall(ownCall, result);
    } finally {
      if (result.ok) result.end?.();
    }
  };
  let next = 0;
  const runInTurn = async (): Promise<void> => {
    while (next < upstreamCalls) {
      const index = next++;
      ends[index] = signal.aborted
        ? { kind: "unreached", attempts: [], error: unsentError() }
        : await runCall(index);
    }
  };
  const turns = Array.from({ length: MAX_UPSTREAM_CALLS_AT_ONCE }, () =>
    runInTurn().catch((error: unknown) => {
      // The gateway itself failed: no further call is sent.
      next = upstreamCalls;
      throw error;
    }),
  );
  // All calls end before the request does, because they use what it releases.
  await Promise.allSettled(turns);
  await Promise.all(turns);
  return ends;
}

/** How one upstream call ended. */
export type CallEnd = MadeCall | FailedCall | UnreachedCall;

/** The call made an image. */
export interface MadeCall {
  readonly kind: "made";
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** The usage as the client gets it. */
  readonly report?: unknown;
  /** Its response without its images. */
  readonly result: ImageResult;
  /** Its images, if they have not been sent. */
  readonly waiting?: WaitingImages | undefined;
  /** Set if the operator refused all of its images. */
  readonly refusal?: GatewayError | undefined;
  readonly error?: undefined;
}

/** The call reached a provider and has no image. */
export interface FailedCall {
  readonly kind: "failed";
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** The usage as the client gets it, if the response could be read. */
  readonly report?: unknown;
  readonly error: GatewayError;
}

/** The call reached no provider, or was not sent. */
interface UnreachedCall {
  readonly kind: "unreached";
  readonly attempts: readonly AttemptRecord[];
  readonly error: GatewayError;
}

export function isMade(end: CallEnd): end is MadeCall {
  return end.kind === "made";
}

/** The error to respond with if the operator refused the images of all calls that made one. */
export function findRefusal(ends: readonly CallEnd[]): GatewayError | undefined {
  const made = ends.filter(isMade);
  return made.every(({ refusal }) => refusal !== undefined) ? made[0]?.refusal : undefined;
}

/** Aborted if nothing more is to be sent: the client has disconnected, or the gateway has closed and abandoned the hold. */
class StopSignal implements Pick<AbortSignal, "aborted"> {
  readonly #client: Client;
  #hasHoldEnded = false;

  constructor(client: Client, { ended }: Commit) {
    this.#client = client;
    void ended.then(() => this.#stop());
  }

  get aborted(): boolean {
    return this.#hasHoldEnded || this.#client.signal.aborted;
  }

  #stop(): void {
    this.#hasHoldEnded = true;
  }
}

/** The request of one call, with its own seed. */
function toRequestOf({ request, model }: Call, index: number): ImageRequest {
  const { upstreamFields } = request;
  return {
    ...toShare(request),
    upstreamFields: model.family.raiseSeed?.(upstreamFields, index) ?? upstreamFields,
  };
}

/** The request with what one call can make. */
function toShare(request: ImageRequest): ImageRequest {
  const { maxImages, maxLayers = 0, upstreamCalls = 1 } = request;
  return {
    ...request,
    upstreamCalls: undefined,
    maxImages: maxImages / upstreamCalls,
    maxLayers: maxLayers / upstreamCalls,
  };
}

/** The end of a call that no provider accepted. */
export function toRefused({
  sentTo,
  attempts,
  error,
  isNothingMade,
  isUnknown,
  usage,
}: UpstreamRefusal): CallEnd {
  if (sentTo === undefined) return { kind: "unreached", attempts, error };
  return {
    kind: "failed",
    sentTo,
    outcome: toOutcome(error, { isConclusive: isNothingMade, isUnknown, usage }),
    error,
  };
}

export function toOutcome(error: GatewayError, rest: Partial<Outcome>): Outcome {
  const { status, upstreamRequestId } = error;
  return { status, errorCode: shownCodeOf(error), images: 0, upstreamRequestId, ...rest };
}

/** A call whose response cannot be used. If its body is compressed, it is unknown what was made. */
export function toBroken(reading: Reading, flaw: unknown): FailedCall {
  const { success, reader } = reading;
  const { sentTo, response } = success;
  response.cancel();
  const coding = isGatewayError(flaw) && !reader.isTooLarge ? readContentCoding(response.headers) : undefined;
  const error = toError(reading, coding === undefined ? flaw : contentCodingError(coding, response));
  return { kind: "failed", sentTo, outcome: toOutcome(error, { isUnknown: coding !== undefined }), error };
}

/** How the calls of a request ended. */
interface EndedCalls {
  readonly ends: readonly CallEnd[];
  readonly error: GatewayError | undefined;
  /** The status that the client gets. Default: that of the error, or 200. */
  readonly status?: number;
}

/** Ends the hold: charges all calls together, or releases it if none of them reached a provider. */
export async function settle(
  { report, request }: Call,
  commit: Commit,
  { ends, error, status = error?.status ?? 200 }: EndedCalls,
): Promise<HoldEnd> {
  const attempts = ends.flatMap((end, index) =>
    attemptsOf(end).map((attempt) => ({ call: index, ...attempt })),
  );
  report.setAttempts(attempts);
  const reached = ends.filter((end) => end.kind !== "unreached");
  // The record describes the call whose response or failure the client gets.
  const shown = reached.find(isMade) ?? reached[0];
  const errorCode = error && shownCodeOf(error);
  if (shown === undefined) return commit.run(undefined, { status, errorCode, images: 0 });
  const { channel, upstreamModel } = shown.sentTo;
  const isRepeated = reached.some(({ sentTo }) => sentTo.isRepeated);
  const outcomes = reached.map(({ outcome }) => outcome);
  const bounds = toRequestBounds(toShare(request));
  const { costs } = reached.find(({ sentTo }) => sentTo.costs !== undefined)?.sentTo ?? {};
  return commit.run(
    { channel, upstreamModel, attempts, isRepeated, costs, marks: joinMarks(reached) },
    {
      ...mergeOutcomes(outcomes, bounds),
      ...(costs !== undefined && {
        calls: reached.map(({ sentTo, outcome }) => ({ sentTo, outcome, bounds })),
      }),
      status,
      errorCode,
      upstreamRequestId: shown.outcome.upstreamRequestId,
    },
  );
}

/** The marks of the images of all calls, in the order of the calls. */
function joinMarks(reached: readonly (MadeCall | FailedCall)[]): RecordedMarks | undefined {
  if (!reached.some(({ sentTo }) => sentTo.marks !== undefined)) return undefined;
  return { list: () => reached.flatMap(({ sentTo, outcome }) => sentTo.marks?.list(outcome.images) ?? []) };
}

function attemptsOf(end: CallEnd): readonly AttemptRecord[] {
  return end.kind === "unreached" ? end.attempts : end.sentTo.attempts;
}

/** The entries of `extra.errors`. Their index is the index of the call. */
export function toErrors(
  end: CallEnd,
  { index, redact }: { readonly index: number; readonly redact: Redaction },
): readonly ResultError[] {
  if (isMade(end)) {
    const { result, waiting } = end;
    return [...result.errors, ...(waiting?.errors ?? [])].map((error) => ({ ...error, index }));
  }
  return [{ index, code: redact(shownCodeOf(end.error)), message: redact(end.error.message) }];
}

/** Adds the numbers of two reports of usage, member by member. Of anything else the first value stays. */
export function addReports(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (!isJsonObject(a) || !isJsonObject(b)) return a ?? b;
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries([...names].map((name) => [name, addReports(a[name], b[name])]));
}

function unsentError(): GatewayError {
  return new GatewayError("client_closed_request", "The client disconnected before this call was sent.");
}

/** The first call made nothing, but another one may have: a repeat of the request could be charged twice. */
export function withoutRetry(error: GatewayError): GatewayError {
  const { code, message, status, param, upstreamCode, upstreamRequestId, retryAfterSeconds, cause } = error;
  const details = { status, param, upstreamCode, upstreamRequestId, retryAfterSeconds, cause };
  return new GatewayError(code, message, { ...details, shouldRetry: false });
}
