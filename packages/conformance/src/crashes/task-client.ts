import type { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { open, type ReadResponse, readResponse, responseTo } from "../support/http-client.ts";
import { GENERATIONS } from "../support/image-calls.ts";
import { modelOf, type PlannedCall, promptOf } from "./call-server.ts";
import { CALLERS } from "./server-plan.ts";

/** A request with `Prefer: respond-async`, and what its client does with the task. */
export interface PlannedTask extends Omit<PlannedCall, "stream" | "leaveAfterMs"> {
  readonly stream: false;
  /** When the client disconnects from its first submission. */
  readonly leaveAfterMs?: number | undefined;
  /** Whether the submission has an `Idempotency-Key`: the client repeats it until it gets a response. */
  readonly hasKey: boolean;
  /** How long after the 202 the client cancels the task. */
  readonly cancelAfterMs?: number | undefined;
  /** How the client reads the task until it has ended. `none`: it does not. */
  readonly follow: "poll" | "wait" | "events" | "none";
}

/** The state of a task as its client saw it. */
export interface SeenTask {
  readonly status: string;
  /** The result or the error of a task that has ended, as JSON. */
  readonly end: string | undefined;
}

/** The id in a 202, or the status and code of another response. */
type Submission = { readonly id: string } | { readonly refusal: string };

/** What the client of a task saw. */
export interface TaskSighting extends PlannedTask {
  /** The responses. A response that was lost is left out, and so is a refusal after which the client repeats. */
  readonly submissions: readonly Submission[];
  /** In the order of the responses. */
  readonly seen: readonly SeenTask[];
  /** The status of the response to the cancellation. */
  readonly cancelled: number | undefined;
}

/** What a client needs besides its plan. */
export interface TaskClientOptions {
  /** The server of the next request. */
  readonly nextUrl: () => string;
  readonly agent: Agent;
  /** True when the client must not begin another request. */
  readonly isOver: () => boolean;
}

/** Between two requests of one client, also if the server is dead. */
const PAUSE_MS = 15;
const WAIT_SECONDS = 2;

/** Submits a task, repeats requests whose responses were lost, and follows the task. Never rejects. */
export async function runTaskClient(planned: PlannedTask, options: TaskClientOptions): Promise<TaskSighting> {
  const seen: SeenTask[] = [];
  const first = await submit(planned, options);
  if (first === undefined || "refusal" in first) {
    return { ...planned, submissions: first === undefined ? [] : [first], seen, cancelled: undefined };
  }
  const cancelling = cancel(planned, first.id, options);
  await follow(planned, first.id, { ...options, seen });
  const cancelled = await cancelling;
  // A repeat finds the task also when it has ended.
  const repeated = planned.hasKey
    ? await submit({ ...planned, leaveAfterMs: undefined }, options)
    : undefined;
  const submissions = repeated === undefined ? [first] : [first, repeated];
  return { ...planned, submissions, seen, cancelled };
}

/** The path of a task. */
export const pathOf = (id: string): string => `/v1/images/tasks/${id}`;

/** Returns `undefined` if the response to the last submission was lost. */
async function submit(
  planned: PlannedTask,
  { nextUrl, agent, isOver }: TaskClientOptions,
): Promise<Submission | undefined> {
  let { leaveAfterMs } = planned;
  do {
    const response = await post(nextUrl(), planned, { agent, leaveAfterMs });
    leaveAfterMs = undefined;
    const submission = response && toSubmission(response);
    const mayRepeat =
      submission !== undefined && "refusal" in submission && REPEATABLE.test(submission.refusal);
    if (submission !== undefined && !(mayRepeat && planned.hasKey)) return submission;
    await sleep(PAUSE_MS);
  } while (planned.hasKey && !isOver());
  return undefined;
}

/** The request with this key is still running, or the server closes or misses a store. */
const REPEATABLE = /idempotency_in_progress|gateway_unavailable|gateway_closed|overloaded/;

function toSubmission({ status, text }: ReadResponse): Submission {
  const body: { readonly id: string; readonly error?: { readonly code: string } } = JSON.parse(text);
  return status === 202 ? { id: body.id } : { refusal: `${status} ${body.error?.code}` };
}

/** Returns `undefined` if the response was cut off. */
async function post(
  url: string,
  planned: PlannedTask,
  { agent, leaveAfterMs }: { readonly agent: Agent; readonly leaveAfterMs: number | undefined },
): Promise<ReadResponse | undefined> {
  const headers = {
    ...authorize(planned),
    "content-type": "application/json",
    prefer: "respond-async",
    ...(planned.hasKey && { "idempotency-key": planned.name }),
  };
  const outgoing = open(url, { path: GENERATIONS, headers }, agent);
  const body = { model: modelOf(planned), prompt: promptOf(planned), size: "1K", n: planned.n };
  outgoing.end(JSON.stringify(body));
  const leaving = leaveAfterMs === undefined ? undefined : setTimeout(() => outgoing.destroy(), leaveAfterMs);
  return await readResponse(outgoing)
    .catch(() => undefined)
    .finally(() => clearTimeout(leaving));
}

async function cancel(
  planned: PlannedTask,
  id: string,
  { nextUrl, agent, isOver }: TaskClientOptions,
): Promise<number | undefined> {
  if (planned.cancelAfterMs === undefined) return undefined;
  await sleep(planned.cancelAfterMs);
  while (!isOver()) {
    const outgoing = open(nextUrl(), { path: `${pathOf(id)}/cancel`, headers: authorize(planned) }, agent);
    outgoing.end();
    const status = await readResponse(outgoing).then(
      (response) => response.status,
      () => undefined,
    );
    if (status !== undefined && status !== 503) return status;
    await sleep(PAUSE_MS);
  }
  return undefined;
}

interface Following extends TaskClientOptions {
  readonly seen: SeenTask[];
}

/** Reads the task until it has ended. */
async function follow(planned: PlannedTask, id: string, { seen, ...options }: Following): Promise<void> {
  if (planned.follow === "none") return;
  while (!options.isOver()) {
    seen.push(...(await readTask(planned, id, options)));
    if (seen.at(-1)?.end !== undefined) return;
    await sleep(PAUSE_MS);
  }
}

/** Reads a task once, as the client follows it. Returns the states that it saw before the response ended or broke off. */
async function readTask(
  planned: PlannedTask,
  id: string,
  { nextUrl, agent }: TaskClientOptions,
): Promise<readonly SeenTask[]> {
  const path =
    pathOf(id) + { poll: "", none: "", wait: `?wait=${WAIT_SECONDS}`, events: "/events" }[planned.follow];
  const outgoing = open(nextUrl(), { method: "GET", path, headers: authorize(planned) }, agent);
  outgoing.end();
  let text = "";
  let status: number | undefined;
  try {
    const incoming = await responseTo(outgoing);
    status = incoming.statusCode;
    for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
  } catch {
    // The server was killed. The events before that count.
    if (planned.follow !== "events") return [];
  }
  if (status === undefined || status === 503) return [];
  if (status !== 200) return [{ status: `${status} ${text}`, end: undefined }];
  if (planned.follow !== "events") return [toSeen(text)];
  return [...text.matchAll(/event: status\ndata: (.*)\n\n/g)].map(([, json = ""]) => toSeen(json));
}

/** Reads a task as an endpoint shows it. */
export function toSeen(json: string): SeenTask {
  const { status, result, error }: { status: string; result?: unknown; error?: unknown } = JSON.parse(json);
  const hasEnded = status !== "queued" && status !== "in_progress";
  return { status, end: hasEnded ? JSON.stringify(result ?? error ?? null) : undefined };
}

function authorize({ caller }: Pick<PlannedTask, "caller">): { readonly authorization: string } {
  return { authorization: `Bearer ${CALLERS[caller].key}` };
}
