import { budgetError, toHoldRecord } from "../../billing/hold.js";
import type { HoldRecord } from "../../billing/records.js";
import { GatewayError, invalidRequest, unavailable } from "../../errors.js";
import type { GatewayRequest, GatewayResponse, HeaderReader } from "../../http.js";
import { withDataUrlStrings } from "../../images/data-url.js";
import type { Configuring } from "../../kernel/feature.js";
import type { Submissions, SubmittedRequest } from "../../kernel/submissions.js";
import type { RelatedOptions } from "../../options/options.js";
import { readPrefer } from "../../request/prefer.js";
import { type Endpoint, idempotencyScopeOf } from "../../request/route.js";
import type { ImageRequest } from "../../types.js";
import { conflictError } from "../limits/idempotency.js";
import type { PrivateObjects } from "../results/private-objects.js";
import type { NewTask, Task, TaskRoom, TaskStore, TaskSubmission } from "../task-store/task-store.js";
import { FIRST_READ_SECONDS, renderAccepted } from "./render-task.js";
import { keepBody } from "./task-body.js";
import { type TaskBody, writeTaskInput } from "./task-input.js";
import { createTaskId } from "./task-object.js";

/** Where tasks are submitted, with one set of options. */
export interface TaskIntake extends Configuring<RelatedOptions> {
  readonly tasks: Tasks;
  /** `undefined` without webhooks. */
  readonly webhookEndpoints: NamedEndpoints | undefined;
}

/** Tasks, as a submission uses them. */
export interface Tasks {
  readonly store: TaskStore;
  /** Where long requests and results are kept. `undefined` without a store of results that can read them. */
  readonly objects: PrivateObjects | undefined;
  /** How long a task may wait in the queue, in milliseconds. */
  readonly ttlMs: number;
  /** How long a task is kept after its end, in milliseconds. */
  readonly keepMs: number;
  /** The room for the tasks of all callers that have not ended. */
  readonly room: TaskRoom;
  /** The path before `/v1/…` in links to tasks. */
  readonly findBasePath: (request: GatewayRequest, endpoint: Endpoint) => string;
}

/** The status of the response to a submission. */
const ACCEPTED = 202;

/** Takes the requests that ask for a task. */
export function createTaskSubmissions(parts: TaskIntake): Submissions {
  return {
    linksOnly: parts.tasks.objects === undefined,
    wants: (endpoint, headers): endpoint is SubmittedRequest["endpoint"] =>
      endpoint.operation !== "native" && readPrefer(headers).respondAsync,
    submit: (request, submission) => submitTask(parts, request, submission),
    checkReplay(response) {
      if (response.status !== ACCEPTED) return;
      // It would get a task in place of images.
      const message =
        "A request with this Idempotency-Key was submitted as a task: send it with Prefer: respond-async to get the task, " +
        "or send a new key. A new key can be charged again.";
      throw new GatewayError("idempotency_conflict", message, { shouldRetry: false });
    },
  };
}

/**
 * Stores a request as a task, together with its hold, and responds with 202. The limits on rates, the operator's
 * `beforeSend` and the budget are checked now; the limits on concurrent requests when the task runs.
 *
 * @throws GatewayError if the request is refused
 */
async function submitTask(
  parts: TaskIntake,
  host: GatewayRequest,
  submission: SubmittedRequest,
): Promise<GatewayResponse> {
  const { tasks } = parts;
  const { call, endpoint, fields } = submission;
  const { caller, request, billed } = call;
  checkTaskRequest(request);
  const webhooks = await readWebhookNames(host.headers, caller.id, parts.webhookEndpoints);
  const repeatable = { headers: host.headers, scope: idempotencyScopeOf(endpoint), fields };
  const admitted = await parts.admission?.admit(call, "submission", repeatable);
  // A task does not wait here: it has a queue of its own.
  const admission = admitted?.kind === "waiting" ? await admitted.turn : admitted;
  if (admission?.kind === "replay") return withRetryAfter(admission.response);
  try {
    await parts.beforeSend?.(withDataUrlStrings(request), caller);
    const task = await storeTask(parts, submission, { webhooks, repeat: admission?.repeat });
    call.observer?.submitted(task.id);
    const response = renderAccepted(task, {
      id: billed.id,
      location: `${tasks.findBasePath(host, endpoint)}/v1/images/tasks/${task.id}`,
      ignored: request.ignored,
      replacedSize: request.replacedSize,
    });
    // If the store forgets the response, the task store still finds the task of a repeat.
    await admission?.keep(response);
    return { ...response, headers: admission?.addLimits(response.headers) ?? response.headers };
  } catch (error) {
    await admission?.release();
    throw error;
  }
}

/** The replayed response: that of a submission, or that of a request without `Prefer`, which has been served. */
function withRetryAfter(response: GatewayResponse): GatewayResponse {
  return response.status === ACCEPTED
    ? { ...response, headers: { ...response.headers, "retry-after": String(FIRST_READ_SECONDS) } }
    : response;
}

/** @throws GatewayError `invalid_request_error` for what cannot be a task */
function checkTaskRequest({ stream }: ImageRequest): void {
  if (!stream) return;
  throw invalidRequest(
    "stream and Prefer: respond-async exclude each other: the events of a task are at …/events of its path.",
    "stream",
  );
}

/** Stores the task, or finds the task of an earlier submission with the same idempotency key. */
async function storeTask(
  parts: TaskIntake,
  submission: SubmittedRequest,
  more: Pick<NewTask, "webhooks" | "repeat">,
): Promise<Task> {
  const { tasks, holds, now } = parts;
  const { store, objects, ttlMs } = tasks;
  const { fields } = submission;
  const { caller, billed, logger, keepAlive } = submission.call;
  const id = createTaskId();
  const body = await keepBody(fields, { objects, neededUntil: now() + ttlMs });
  const removeBody = async (): Promise<void> => {
    if (body.kind === "inline") return;
    await objects?.remove(body.id).catch((err: unknown) => {
      logger.warn({ err }, "The store of results did not delete the request of a task; it expires.");
    });
  };
  const stored = toNewTask(parts, submission, { ...more, id, body });
  let submitted: TaskSubmission;
  try {
    submitted = await store.submit(...stored);
  } catch (cause) {
    logger.error({ err: cause }, "The task store failed; the task was not accepted.");
    const isRepeatable = more.repeat !== undefined;
    // It may have been stored all the same. A repeat with the same key must not find a cancelled task.
    if (!isRepeatable) {
      keepAlive(holds.write(() => cancelUnsure(store, { caller: caller.id, id, removeBody }), { task: id }));
    }
    throw unsureError(isRepeatable, cause);
  }
  if (submitted.kind === "submitted" || submitted.kind === "repeated") {
    // The task of an earlier submission has a body of its own.
    if (submitted.task.requestId !== billed.id) keepAlive(removeBody());
    return submitted.task;
  }
  keepAlive(removeBody());
  throw toSubmissionError(submitted, stored[1]);
}

function toNewTask(
  { tasks, prices }: Pick<TaskIntake, "tasks" | "prices">,
  { call, endpoint, isForm }: SubmittedRequest,
  { id, body, webhooks, repeat }: Pick<NewTask, "id" | "webhooks" | "repeat"> & { readonly body: TaskBody },
): Parameters<TaskStore["submit"]> {
  const { ttlMs, keepMs, room } = tasks;
  const { caller, billed, linkBase, observer } = call;
  const { receivedAt, group, bounds, endUser, tags } = billed;
  const attribution = { endUser, tags };
  const price = prices?.findTerms(billed.model, group);
  const trace = observer?.link;
  const known = { receivedAt, caller, group, price, bounds, attribution };
  const input = { endpoint, ...known, linkBase, isForm, body, trace };
  const task: NewTask = {
    id,
    requestId: billed.id,
    caller: caller.id,
    model: billed.model,
    operation: endpoint.operation,
    input: writeTaskInput(input),
    repeat: repeat && { key: repeat.key, fingerprint: repeat.fingerprint },
    webhooks,
    ttlMs,
    keepMs,
    room,
  };
  return [task, toHoldRecord({ ...billed, task: id }, ttlMs, receivedAt)];
}

/** Cancels a task that may not exist. A task that was sent keeps its body. */
async function cancelUnsure(
  store: TaskStore,
  unsure: { readonly caller: string; readonly id: string; readonly removeBody: () => Promise<void> },
): Promise<void> {
  const cancelled = await store.cancel(unsure.caller, unsure.id);
  if (cancelled === undefined || cancelled.task.status === "cancelled") await unsure.removeBody();
}

/** The error of a submission that may have been stored. */
function unsureError(isRepeatable: boolean, cause: unknown): GatewayError {
  const advice = isRepeatable
    ? "try again with the same Idempotency-Key. The task may have been stored; a repeat does not make a second one."
    : "try again. The task may have been stored; then it is cancelled, if it was not sent yet.";
  return unavailable(`This server cannot store tasks at the moment: ${advice}`, cause);
}

function toSubmissionError(
  refused: Exclude<TaskSubmission, { readonly kind: "submitted" | "repeated" }>,
  hold: HoldRecord,
): GatewayError {
  if (refused.kind === "conflict") return conflictError();
  if (refused.kind === "refused") return budgetError(hold, refused.balance);
  const options = { retryAfterSeconds: 30, limit: "tasks" };
  return refused.isShareUsed
    ? new GatewayError("rate_limit_exceeded", SHARE_USED, options)
    : new GatewayError(
        "task_queue_full",
        "This server has no room for more tasks: try again later.",
        options,
      );
}

const SHARE_USED =
  "Your tasks that have not ended take as much room as you may have here: wait until some of them have ended, or send " +
  "shorter requests.";

/** The webhook endpoints of all callers, by their names. */
export interface NamedEndpoints {
  find(caller: string): Promise<ReadonlyMap<string, unknown>>;
}

/**
 * Reads which endpoints get a message about the end of a task: the one that the header `x-calotype-webhook` names, or all endpoints of
 * the caller if there is no such header. Call it at submission.
 *
 * @param endpoints `undefined` without the option `webhooks`
 * @throws GatewayError `invalid_request_error` for an unknown name. Also what {@link NamedEndpoints.find} throws.
 */
export async function readWebhookNames(
  headers: HeaderReader,
  caller: string,
  endpoints: NamedEndpoints | undefined,
): Promise<readonly string[]> {
  const header = headers.get(WEBHOOK_HEADER);
  const names = endpoints === undefined ? [] : [...(await endpoints.find(caller)).keys()];
  if (header === null) return names;
  const name = header.trim();
  if (names.includes(name)) return [name];
  const known =
    names.length === 0
      ? "There are no webhook endpoints for this API key"
      : `The names are ${names.join(", ")}`;
  throw invalidRequest(
    `The header ${WEBHOOK_HEADER} must be the name of one webhook endpoint, not ${JSON.stringify(name.slice(0, MAX_SHOWN))}. ${known}.`,
    WEBHOOK_HEADER,
  );
}

/** Names the only endpoint that gets a message about the end of a task. */
const WEBHOOK_HEADER = "x-calotype-webhook";
const MAX_SHOWN = 64;
