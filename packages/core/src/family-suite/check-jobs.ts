import { findDialect, findJobs } from "../channels/channel.js";
import type { JobProtocol, ProviderJob } from "../families/job.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { checkOutcome, normalize } from "./check-exchanges.js";
import { require, requireSame } from "./expect.js";
import { type ClientResponse, createReplay, type Replay, type ReplayedCall, type Respond } from "./replay.js";
import { createResponder, findResult, jobOf, type Responder, toResponse } from "./respond.js";
import type { FamilyCheck, FamilySubject, RecordedExchange, RecordedResponse } from "./subject.js";

/** What a family must hold for an exchange with a job of its provider. */
export function* checkJob(subject: FamilySubject, exchange: RecordedExchange): Iterable<FamilyCheck> {
  const { name, response } = exchange;
  const jobs = findJobs(findDialect(subject.family, subject.dialect));
  const job = jobOf(exchange);
  // Without a job the provider refused the submission.
  if (jobs === undefined || job === undefined) return;
  yield {
    name: `${name}: is submitted once, also if the calls about its job fail`,
    run: () => checkFailingCalls(subject, exchange),
  };
  yield {
    name: `${name}: is not submitted again if the provider does not know its job any more`,
    run: () => checkLostJob(subject, exchange),
  };
  yield {
    name: `${name}: is not submitted again if the response to the submission cannot be read`,
    run: () => checkLostId(subject, exchange),
  };
  if (job.polls.length > 1) {
    yield {
      name: `${name}: ends when the time of its job is over`,
      run: () => checkDeadline(subject, exchange, jobs),
    };
  }
  if (/"https?:/.test(JSON.stringify(response.body))) {
    yield {
      name: `${name}: sends the key to no other host`,
      run: () => checkOtherHosts(subject, exchange),
    };
  }
  yield {
    name: `${name}: its job can be stored and continued by another process`,
    run: () => checkStoredJob(jobs, subject, exchange, bodyOf(response)),
  };
}

/** Two channels, so that a second submission would be possible. */
async function replay(
  subject: FamilySubject,
  { request }: RecordedExchange,
  respond: Respond,
): Promise<Replay & { readonly seen: ClientResponse }> {
  const opened = createReplay(subject, { channels: 2, respond });
  const seen = await opened.send(request);
  await opened.close();
  return { ...opened, seen };
}

function requireOneSubmission({ calls }: Pick<Replay, "calls">, { isSubmission }: Responder): void {
  requireSame(calls.filter(isSubmission).length, 1, "A request that was accepted is submitted once.");
}

/** Each call about the job fails in a different way before it gets its recorded response. */
async function checkFailingCalls(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const responder = createResponder(exchange);
  const failures: readonly (() => Response)[] = [
    () => new Response("", { status: 500 }),
    () => new Response("", { status: 429, headers: { "retry-after": "7" } }),
    () => new Response("<html>"),
    () => {
      throw new TypeError("fetch failed");
    },
  ];
  let failed = 0;
  const replayed = await replay(subject, exchange, (index, call) => {
    const fail = responder.isSubmission(call) ? undefined : failures[failed++];
    return fail === undefined ? responder.respond(index, call) : fail();
  });
  requireOneSubmission(replayed, responder);
  checkOutcome(subject, exchange, { seen: replayed.seen, record: replayed.records[0] });
}

async function checkLostJob(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const responder = createResponder(exchange);
  const replayed = await replay(subject, exchange, (index, call) =>
    responder.isSubmission(call) ? responder.respond(index, call) : new Response("{}", { status: 404 }),
  );
  requireOneSubmission(replayed, responder);
  requireFailed(replayed);
}

/** The request may have been accepted. */
async function checkLostId(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  for (const text of ["{}", '{"id":null,"request_id":7,"output":null}', "<html>", ""]) {
    const responder = createResponder(exchange);
    const replayed = await replay(subject, exchange, (_index, call) => {
      responder.isSubmission(call);
      return new Response(text);
    });
    requireOneSubmission(replayed, responder);
    requireSame(replayed.calls.length, 1, "Without the id of a job no call about it is sent.");
    requireFailed(replayed);
  }
}

/** The first poll is repeated for ever. */
async function checkDeadline(
  subject: FamilySubject,
  exchange: RecordedExchange,
  jobs: JobProtocol,
): Promise<void> {
  const responder = createResponder(exchange);
  const [pending] = jobOf(exchange)?.polls ?? [];
  require(pending !== undefined, "A job has at least one poll.");
  const replayed = await replay(subject, exchange, (index, call) =>
    responder.isSubmission(call) ? responder.respond(index, call) : toResponse(pending),
  );
  requireOneSubmission(replayed, responder);
  requireSame(replayed.seen.status, 504, "The client gets a 504 when the time of the job is over.");
  requireFailed(replayed);
  const lastCalls = replayed.calls.slice(-2).map(toComparable);
  if (jobs.cancel !== undefined) {
    require(lastCalls[0] !== lastCalls[1], "A job whose time is over is cancelled.", lastCalls);
  }
}

/** @throws FamilyCheckError if the client got images, or they were charged */
function requireFailed({ seen, records: [record] }: Replay & { readonly seen: ClientResponse }): void {
  require(seen.status >= 400, "The client gets an error.", seen);
  requireSame(record?.images, 0, "A job without a result has no image.");
  requireSame(record?.charge, "0", "Nothing is charged that the provider did not report as made.");
}

const ELSEWHERE = "https://elsewhere.example";

/** The provider's response names URLs on a host that is not its own. */
async function checkOtherHosts(subject: FamilySubject, exchange: RecordedExchange): Promise<void> {
  const responder = createResponder(exchange);
  const moved = JSON.parse(
    JSON.stringify(bodyOf(exchange.response)).replaceAll(/https?:\/\/[^/"]+/g, ELSEWHERE),
  );
  const replayed = await replay(subject, exchange, (index, call) =>
    responder.isSubmission(call) ? Response.json(moved) : responder.respond(index, call),
  );
  requireOneSubmission(replayed, responder);
  const moving = replayed.calls.filter(({ url }) => url.startsWith(ELSEWHERE));
  requireSame(
    moving.map(({ url }) => url),
    [],
    "A call about a job goes to the provider's own hosts.",
  );
}

/** What another process knows of a job is JSON, and a request without its prompt and its images. */
async function checkStoredJob(
  jobs: JobProtocol,
  subject: FamilySubject,
  exchange: RecordedExchange,
  submission: JsonObject,
): Promise<void> {
  const request = normalize(subject, exchange.request);
  const read = jobs.readSubmission(submission, request);
  require("job" in read || "task" in read, "The submission was accepted.", read);
  const job = "job" in read ? read.job : read.task;
  const stored = JSON.parse(JSON.stringify(job));
  requireSame(stored, job, "A job is plain JSON.");
  const callsOf = (sent: ProviderJob): unknown => [
    jobs.poll(sent),
    jobs.fetchResult?.(sent),
    jobs.cancel?.(sent),
  ];
  requireSame(callsOf(stored), callsOf(job), "A stored job gives the same calls.");
  const dialect = findDialect(subject.family, subject.dialect);
  const result = bodyOf(findResult(exchange));
  const shortened = { ...request, prompt: "", images: [], upstreamFields: {} };
  const { images } = dialect.fromUpstream(result, shortened);
  requireSame(images.length, exchange.expects.images, "A result is read without the prompt and the images.");
}

function bodyOf({ body }: RecordedResponse): JsonObject {
  require(isJsonObject(body), "The responses about a job are JSON.", body);
  return body;
}

const toComparable = ({ method, url }: ReplayedCall): string => `${method} ${url}`;
