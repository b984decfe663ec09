import type { AttemptFailure } from "../families/failure.js";
import type { JobProtocol, JobState, ProviderJob } from "../families/job.js";
import type { UpstreamCall } from "../families/upstream-call.js";
import type { Usage } from "../types.js";
import { isJsonObject } from "../util/json.js";
import {
  type AcceptedJob,
  type AttemptOutcome,
  familyFailed,
  type ParsedResponse,
  type PreparedAttempt,
  readFailure,
  readRetryAfter,
  readWhole,
  replayResponse,
  sendOnce,
} from "./attempt.js";
import { mayHaveMadeImage } from "./failure.js";
import { findPollWait } from "./poll-wait.js";
import { type JsonResponse, parseResponse, readHead, tooLargeError } from "./read.js";
import type { AttemptContext, StoredJob } from "./stored-jobs.js";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";
import { writeCall } from "./write-call.js";

/** What waiting for jobs needs of the gateway. */
export interface JobParts {
  readonly transport: Transport;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly random: () => number;
  /** Resolves after this time, or once the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A request to a provider that works with jobs. */
export interface JobAttempt {
  readonly attempt: PreparedAttempt;
  readonly protocol: JobProtocol;
  readonly parts: JobParts;
  readonly context: AttemptContext;
}

/**
 * Submits a request and waits for the end of its job, or only waits if the job was submitted before. The outcome is that
 * of the request as a whole: the response is that with the result. From the moment when the provider accepted the request
 * every outcome has `accepted`, and nothing is sent to another channel. Does not reject.
 */
export async function runProviderJob(job: JobAttempt): Promise<AttemptOutcome> {
  const { attempt } = job;
  if (attempt.stored !== undefined) return waitForJob(job, attempt.stored);
  const until = job.parts.now() + attempt.route.channel.timeouts.firstByteMs;
  const sent = await sendOnce(attempt, job.parts.transport, job.context);
  if (sent.failure !== undefined) return sent;
  const submitted = await readSubmission(job, sent.response, until);
  return "failure" in submitted ? submitted : waitForJob(job, submitted);
}

/**
 * The largest response to a submission or a poll, in bytes. A longer result must be fetched by a call of its own; then it
 * is read like the response of every other provider.
 */
const MAX_STATE_BYTES = 1024 * 1024;

/** Nothing is known of what a job has made. */
const UNKNOWN: AcceptedJob = { isNothingMade: false };

/** Reads the response to a submission, and stores its job. */
async function readSubmission(
  { attempt, protocol, context }: JobAttempt,
  response: TransportResponse,
  until: number,
): Promise<StoredJob | AttemptOutcome> {
  const { channel, key, upstreamModel } = attempt.route;
  const { status } = response;
  let job: ProviderJob;
  try {
    const { chunks, hasEnded } = await readHead(response, MAX_STATE_BYTES);
    if (!hasEnded) response.cancel();
    const { text, value } = parseResponse(chunks, response);
    const submission = protocol.readSubmission(value, attempt.request);
    if ("failure" in submission) return { failure: { ...submission.failure, status, body: text } };
    if ("done" in submission) {
      return { ...readResult(attempt, replayResponse(response, chunks), chunks), accepted: UNKNOWN };
    }
    job = "job" in submission ? submission.job : submission.task;
    checkJob(job);
  } catch (cause) {
    // The provider may have accepted the request, and the id of the job is not known.
    const failure: AttemptFailure =
      cause instanceof TransportError
        ? { kind: cause.reason, cause }
        : familyFailed(channel, cause, context.logger);
    return { failure: { ...failure, status }, accepted: UNKNOWN };
  }
  context.observer?.jobAccepted(job.id);
  const stored: StoredJob = { channel: channel.id, key: key.healthId, upstreamModel, job, until };
  try {
    await context.storeJob?.(stored);
  } catch (err) {
    context.logger.error(
      { channel: channel.id, err },
      "The id of a provider's job could not be stored; only this process can wait for the job.",
    );
  }
  return stored;
}

const MAX_ID_LENGTH = 512;
const MAX_DATA_LENGTH = 4 * 1024;

/** @throws TypeError if a family returned something else than a job, or more than is stored */
function checkJob({ id, data }: ProviderJob): void {
  if (typeof id !== "string" || id === "" || id.length > MAX_ID_LENGTH)
    throw new TypeError("The provider's response to a submission has no valid id of a job.");
  if (data !== undefined && (!isJsonObject(data) || JSON.stringify(data).length > MAX_DATA_LENGTH))
    throw new TypeError("The data of a provider's job must be an object of at most 4 KiB.");
}

/** Waits for the end of a job that the provider accepted. */
async function waitForJob(job: JobAttempt, stored: StoredJob): Promise<AttemptOutcome> {
  const { attempt, context } = job;
  const requestId = stored.job.id;
  const stopper = new AbortController();
  void context.abandoned?.then(() => stopper.abort());
  const waiting: Waiting = {
    ...job,
    stored,
    signal: stopper.signal,
    logFailed: createFailedLog(job, stored),
  };
  let outcome: AttemptOutcome;
  try {
    outcome = (await pollToEnd(waiting)) ?? (await fetchResult(waiting));
  } catch (cause) {
    const failure = familyFailed(attempt.route.channel, cause, job.context.logger);
    outcome = { failure, accepted: UNKNOWN };
  }
  const accepted = outcome.accepted ?? UNKNOWN;
  if (outcome.failure !== undefined) {
    return { ...outcome, failure: { ...outcome.failure, requestId }, accepted };
  }
  const { response, parsed } = outcome;
  return {
    response: withRequestId(response, requestId),
    failure: undefined,
    parsed: parsed && withUsage(parsed, stored.job.usage),
    accepted,
  };
}

/** A job that is waited for. */
interface Waiting extends JobAttempt {
  readonly stored: StoredJob;
  /** Aborted if the call was given up. */
  readonly signal: AbortSignal;
  /** Logs the first call that failed. The others are not logged: a provider may be away for minutes. */
  readonly logFailed: (fields: FailedFields) => void;
}

/** Why a call about a job failed. */
type FailedFields = { readonly status: number | undefined } | { readonly err: unknown };

function createFailedLog({ context }: JobAttempt, { channel, job }: StoredJob): Waiting["logFailed"] {
  let hasLogged = false;
  return (fields) => {
    if (hasLogged) return;
    hasLogged = true;
    context.logger.warn(
      { channel, job: job.id, ...fields },
      "A call about a provider's job failed; it is repeated until the time of the job is over.",
    );
  };
}

/** The provider names the request by its job: that is what its support asks for. */
function withRequestId(response: TransportResponse, id: string): TransportResponse {
  const { headers } = response;
  const get = (name: string): string | null =>
    name.toLowerCase() === "x-request-id" ? id : headers.get(name);
  return { ...response, headers: { get } };
}

/** What the result does not report counts as it was reported at the submission. */
function withUsage(parsed: ParsedResponse, submitted: Usage | undefined): ParsedResponse {
  if (submitted === undefined) return parsed;
  const { result } = parsed;
  return { ...parsed, result: { ...result, usage: { ...submitted, ...result.usage } } };
}

/** Polls until the job has ended. `undefined`: it is done, and its result is to be fetched. */
function pollToEnd(waiting: Waiting): Promise<AttemptOutcome | undefined> {
  const { attempt, protocol, stored } = waiting;
  return repeatUntilDone(waiting, {
    call: () => protocol.poll(stored.job),
    isResult: false,
    read({ response, chunks, body }) {
      if (body === undefined) return { retryAfterSeconds: undefined };
      const state = protocol.readPoll(body.value, stored.job);
      if (state.state === "pending") return state;
      if (state.state === "failed") return { done: toFailedJob(state, body) };
      if (protocol.fetchResult !== undefined) return { done: undefined };
      return { done: readResult(attempt, response, chunks) };
    },
  });
}

function fetchResult(waiting: Waiting): Promise<AttemptOutcome> {
  const { attempt, protocol, stored } = waiting;
  return repeatUntilDone(waiting, {
    call: () => protocol.fetchResult?.(stored.job) ?? protocol.poll(stored.job),
    isResult: true,
    read({ response, chunks, body }) {
      if (body === undefined) return { done: { response, failure: undefined } };
      return { done: readResult(attempt, response, chunks) };
    },
  });
}

function readResult(
  attempt: PreparedAttempt,
  response: TransportResponse,
  chunks: readonly Uint8Array[],
): AttemptOutcome {
  const { route, request } = attempt;
  return { response, ...readWhole(response, chunks, { dialect: route.channel.dialect, request }) };
}

/** The job has ended without a result. Whether images were made depends on the kind of the failure. */
function toFailedJob(
  { failure, usage }: Extract<JobState, { state: "failed" }>,
  { text }: JsonResponse,
): AttemptOutcome {
  const isNothingMade = !mayHaveMadeImage(failure.kind);
  return { failure: { ...failure, body: text }, accepted: { isNothingMade, usage } };
}

/** A call about a job that is repeated until it is done. */
interface JobCall<T> {
  readonly call: () => UpstreamCall;
  /** True if the response is the result: it may be longer than what is read at once, and a refusal of its content is the end. */
  readonly isResult: boolean;
  /** Returns the result, or how long to wait before the next call. */
  readonly read: (
    response: StateResponse,
  ) => { readonly done: T } | { readonly retryAfterSeconds?: number | undefined };
}

/** A response with a 2xx status. */
interface StateResponse {
  readonly response: TransportResponse;
  readonly chunks: readonly Uint8Array[];
  /** `undefined` if the response is longer than what is read at once. */
  readonly body: JsonResponse | undefined;
}

/** After this number of refusals in a row the gateway does not send the call again. A provider may not know its new job yet. */
const MAX_REFUSALS = 5;

/**
 * Repeats a call until it is done or the time of the job is over. Calls that fail are repeated too: the job goes on at the
 * provider.
 *
 * @throws what a function of the family threw, or the error for a host that is not the channel's own
 */
async function repeatUntilDone<T>(
  waiting: Waiting,
  { call, isResult, read }: JobCall<T>,
): Promise<T | AttemptOutcome> {
  const { protocol, parts, context, stored, signal } = waiting;
  const { pollSeconds } = protocol;
  let failures = 0;
  let refusals = 0;
  let retryAfterSeconds: number | undefined;
  // A timer may end a millisecond before the time is over, so the time alone does not say which call is the last.
  let isOver = false;
  for (let polls = 0; ; polls += 1) {
    // There is at least one call, also for a job that is continued after its time.
    const leftMs = stored.until - parts.now();
    if (polls > 0 && (isOver || leftMs <= 0)) return giveUp(waiting);
    const waitMs = findPollWait({ pollSeconds, polls, failures, retryAfterSeconds, random: parts.random() });
    const beganAt = parts.now();
    // A result can be fetched at once.
    if (!isResult || polls > 0) {
      isOver = waitMs >= leftMs;
      await parts.sleep(Math.max(0, Math.min(waitMs, leftMs)), signal);
    }
    if (signal.aborted) return ABANDONED;
    const waitedMs = Math.max(0, parts.now() - beganAt);
    const outcome = await sendCall(waiting, writeCall(waiting.attempt.route, call()), isResult);
    context.observer?.polled({ status: statusOf(outcome), waitedMs });
    retryAfterSeconds = undefined;
    if ("failed" in outcome) {
      failures += 1;
      ({ retryAfterSeconds } = outcome);
    } else if ("refusal" in outcome) {
      failures += 1;
      refusals += 1;
      const isFinal = isResult && outcome.refusal.kind === "content";
      if (isFinal || refusals >= MAX_REFUSALS) return toRefused(outcome.refusal, isFinal);
      waiting.logFailed({ status: outcome.refusal.status });
    } else {
      failures = 0;
      refusals = 0;
      const state = read(outcome);
      if ("done" in state) return state.done;
      ({ retryAfterSeconds } = state);
    }
  }
}

/** The gateway closes. The process that continues the job ends it. */
const ABANDONED: AttemptOutcome = { failure: { kind: "broken" }, accepted: UNKNOWN };

/**
 * The provider does not say what became of a job that it accepted. A refusal of the result for its content is how the
 * job ended. Any other refusal says nothing about the job; a refused key is reported to the operator.
 */
function toRefused(refusal: AttemptFailure, isContent: boolean): AttemptOutcome {
  const kind = isContent || refusal.kind === "credential" ? refusal.kind : "server";
  return { failure: { ...refusal, kind, scope: undefined }, accepted: { isNothingMade: isContent } };
}

/** The provider's time is over. The job is cancelled if that is possible, because no client waits for it any more. */
async function giveUp({ attempt, protocol, stored, parts, context }: Waiting): Promise<AttemptOutcome> {
  const { job } = stored;
  if (protocol.cancel !== undefined) {
    const call = toShortCall(writeCall(attempt.route, protocol.cancel(job)));
    try {
      (await parts.transport.send(call)).cancel();
    } catch (err) {
      context.logger.warn(
        { job: job.id, err },
        "A provider's job whose time is over could not be cancelled.",
      );
    }
  }
  // What it costs is known if the provider said so at the submission. Whether images were made is not.
  const cost = job.usage?.cost_usd;
  return {
    failure: { kind: "timeout" },
    accepted: { isNothingMade: false, usage: cost === undefined ? undefined : { cost_usd: cost } },
  };
}

/** The outcome of a call about a job. */
type CallOutcome =
  | StateResponse
  /** The call failed and is to be repeated. */
  | { readonly failed: true; readonly retryAfterSeconds: number | undefined }
  /** The provider refused the call. */
  | { readonly refusal: AttemptFailure };

const FAILED = { failed: true, retryAfterSeconds: undefined } as const;

function statusOf(outcome: CallOutcome): number | undefined {
  if ("refusal" in outcome) return outcome.refusal.status;
  return "response" in outcome ? outcome.response.status : undefined;
}

async function sendCall(
  { attempt, parts, logFailed }: Waiting,
  request: TransportRequest,
  isResult: boolean,
): Promise<CallOutcome> {
  let response: TransportResponse;
  try {
    response = await parts.transport.send(toShortCall(request));
  } catch (err) {
    logFailed({ err });
    return FAILED;
  }
  const { status, headers } = response;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    logFailed({ status });
    response.cancel();
    return { failed: true, retryAfterSeconds: readRetryAfter(headers) };
  }
  if (status < 200 || status > 299) {
    return { refusal: await readFailure(response, attempt.route.channel.dialect) };
  }
  try {
    const { chunks, hasEnded } = await readHead(response, MAX_STATE_BYTES);
    const replayed = replayResponse(response, chunks);
    if (hasEnded) return { response: replayed, chunks, body: parseResponse(chunks, response) };
    if (isResult) return { response: replayed, chunks, body: undefined };
    logFailed({ err: tooLargeError(MAX_STATE_BYTES, response) });
    response.cancel();
    return FAILED;
  } catch (err) {
    // It broke off, or is not JSON, such as a page of a proxy.
    logFailed({ err });
    return FAILED;
  }
}

/** How long the provider may take to respond to a call about a job: it makes nothing meanwhile. */
const CALL_TIMEOUT_MS = 30_000;

function toShortCall(request: TransportRequest): TransportRequest {
  const { timeouts } = request;
  const firstByteMs = Math.min(timeouts.firstByteMs, CALL_TIMEOUT_MS);
  return { ...request, timeouts: { ...timeouts, firstByteMs } };
}
