import type { Commit } from "../../billing/commit.js";
import { restorePrice } from "../../billing/pricing.js";
import type { BilledRequest } from "../../billing/records.js";
import { GatewayError, isGatewayError } from "../../errors.js";
import { createReport } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { LimitedMoment } from "../../kernel/admission.js";
import type { Configured } from "../../kernel/feature.js";
import { normalizeFields } from "../../kernel/normalize-fields.js";
import { NormalizedCall } from "../../kernel/normalized-call.js";
import { type CallClient, endFailed, endLost, NO_RESPONSE, run } from "../../kernel/run.js";
import { type Logger, RequestLogger } from "../../logger.js";
import { readJson } from "../../request/json.js";
import { toEnvelope } from "../../responses/envelope.js";
import { createReferenceLoader } from "../../upstream/references.js";
import { createStoredJobs } from "../../upstream/stored-jobs.js";
import type { TakenTask, TaskEnd } from "../task-store/task-store.js";
import type { Tasks } from "./submit.js";
import { openBody, removeBodies } from "./task-body.js";
import { readTaskInput, type TaskBody, type TaskInput } from "./task-input.js";
import { keepResult } from "./task-result.js";

/** What a worker gives with a task. */
export interface RunTaskOptions extends Pick<Tasks, "store" | "objects" | "keepMs"> {
  /** Aborted if the gateway closes: a task that was not sent is not sent any more. */
  readonly signal: AbortSignal;
  /** Keeps the gateway from closing before the work is done. */
  readonly track: (work: Promise<unknown>) => void;
}

/**
 * What became of a taken task. `sent`: it runs, and `ended` resolves when it has ended. `ended`: it was ended without being
 * sent, here or elsewhere. `crowded`: its caller may not run more now, or its model is paused. `postponed`: something that it needs is not available
 * now, or the gateway closes. `unsure`: the store failed, and may have marked the task as sent. Tasks of these three kinds
 * are to be given back; `error` is for one that cannot go back.
 */
export type BegunTask = { readonly kind: "sent"; readonly ended: Promise<void> } | UnsentTask;

type UnsentTask =
  | { readonly kind: "ended" | "crowded" | "postponed" }
  | { readonly kind: "unsure"; readonly error: string };

/**
 * Begins a task: reads its request, checks the limits on concurrent requests, and sends it. Does not reject. The task is
 * marked as sent before the first byte leaves; from then on it ends here or, if the process dies, in a sweep.
 */
export async function beginTask(
  parts: Configured,
  task: TakenTask,
  options: RunTaskOptions,
): Promise<BegunTask> {
  const logger = new RequestLogger(parts.logger, task.requestId);
  const { promise: sent, resolve: markBegun } = Promise.withResolvers<void>();
  let client: TaskClient | undefined;
  const ended = (async (): Promise<void> => {
    const input = readTaskInput(task.input);
    const call = await createCall(parts, task, { input, logger, options });
    client = new TaskClient(parts, { task, call, input, options, onSent: markBegun });
    await run(parts, call, client);
  })();
  try {
    await Promise.race([sent, ended]);
    return { kind: "sent", ended };
  } catch (error) {
    if (client?.unsent !== undefined) return client.unsent;
    const kind = findPostponement(error);
    if (kind === "crowded") return { kind };
    if (kind === "postponed") {
      logger.warn({ task: task.id, err: error }, "A task could not begin; it is tried again.");
      return { kind };
    }
    if (task.upstream === undefined) await endUnsent(parts, { task, logger }, { error, options });
    else await endUncontinued(parts, { task, logger }, { error, options });
    return { kind: "ended" };
  }
}

/** The task store, for which a task runs. */
class TaskClient implements CallClient {
  readonly hold = "of a task";
  readonly moment: LimitedMoment;
  /** Set if the task was not sent, and stays in the queue or has ended elsewhere. */
  unsent: UnsentTask | undefined;
  readonly #parts: Configured;
  readonly #running: RunningTask;

  constructor(parts: Configured, running: RunningTask) {
    this.#parts = parts;
    this.#running = running;
    this.moment = running.task.upstream === undefined ? "run" : "continuation";
  }

  /** Marks the task as sent. A task that an earlier process sent is continued, and not marked or sent again. */
  async beforeHold(): Promise<void> {
    const { task, call, input, options, onSent } = this.#running;
    this.unsent = options.signal.aborted ? { kind: "postponed" } : await this.#markSent();
    if (this.unsent !== undefined) throw new TypeError("The task is not sent.");
    const { name: model, entry } = call.model;
    const observed = { kind: "task", task: task.id, link: input.trace } as const;
    call.reportTo(createReport(this.#parts, { ...call.billed, model, entry }, observed));
    onSent();
  }

  async receive(response: GatewayResponse, commit: Commit): Promise<GatewayResponse> {
    const { objects, keepMs } = this.#running.options;
    const until = this.#parts.now() + keepMs;
    const result = await keepResult(response, { objects, until });
    return this.#end(commit, { status: "completed", result });
  }

  async fail(error: unknown, commit: Commit): Promise<GatewayResponse> {
    await endFailed(commit);
    return this.#end(commit, {
      status: "failed",
      error: toErrorJson(this.#running.call.report.refused(error), this.#parts),
    });
  }

  async #markSent(): Promise<UnsentTask | undefined> {
    const { task, call, options } = this.#running;
    if (task.upstream !== undefined) return undefined;
    try {
      return (await options.store.markSent(task.id)) ? undefined : { kind: "ended" };
    } catch (err) {
      call.logger.warn({ task: task.id, err }, "The task store failed; the task was not sent.");
      return { kind: "unsure", error: toErrorJson(markError(), this.#parts) };
    }
  }

  /** If the gateway has closed and given the call up, a sweep ends the task. */
  async #end(commit: Commit, end: Omit<TaskEnd, "id" | "record">): Promise<GatewayResponse> {
    const { task, call, options } = this.#running;
    const { state } = await commit.ended;
    if (state !== "unresolved") {
      const { logger } = call;
      const { record } = commit;
      await endTask(this.#parts, { task, logger }, { end: { id: task.id, ...end, record }, options });
    }
    return NO_RESPONSE;
  }
}

/** A task whose request is valid. */
interface RunningTask {
  readonly task: TakenTask;
  readonly call: NormalizedCall;
  readonly input: TaskInput;
  readonly options: RunTaskOptions;
  /** Called when the task is about to be sent. */
  readonly onSent: () => void;
}

function markError(): GatewayError {
  return new GatewayError(
    "gateway_unavailable",
    "This server could not store that the task was about to be sent: submit it again. Nothing was sent or charged.",
  );
}

function toBilled(
  { id, requestId, model }: TakenTask,
  { endpoint, caller, receivedAt, bounds, price, group, attribution }: TaskInput,
): BilledRequest {
  return {
    id: requestId,
    receivedAt,
    time: new Date(receivedAt).toISOString(),
    operation: endpoint.operation,
    caller: caller.id,
    keyHint: caller.keyHint,
    group,
    model,
    task: id,
    ...attribution,
    bounds,
    price: price && restorePrice(price),
  };
}

interface TaskToRead {
  readonly input: TaskInput;
  readonly logger: Logger;
  readonly options: RunTaskOptions;
}

/** @throws GatewayError, or what a function of the operator threw */
async function createCall(
  parts: Configured,
  task: TakenTask,
  { input, logger, options }: TaskToRead,
): Promise<NormalizedCall> {
  const { endpoint, caller, isForm } = input;
  const { bodyLimits, transport, everySecond } = parts;
  const { store, objects, track } = options;
  const callerLimits = parts.admission?.limitsOf(caller) ?? {};
  const read = toRequest(input.body);
  const slot = parts.takeSlot(read, { id: caller.id, concurrent: callerLimits.concurrent });
  try {
    const body = await openBody(input.body, objects);
    const { minBytesPerSecond, slowAfterSeconds } = bodyLimits;
    const pace = { minBytesPerSecond, seconds: slowAfterSeconds, everySecond };
    const fields = await readJson({ ...read, body }, Infinity, { bytes: slot.bytes, pace });
    const linksOnly = objects === undefined;
    const { model, request } = normalizeFields(parts, { endpoint, caller, fields, isForm, linksOnly });
    return new NormalizedCall({
      billed: toBilled(task, input),
      caller,
      callerLimits,
      model,
      request,
      logger,
      keepAlive: track,
      linkBase: input.linkBase,
      slot,
      loadReferences: createReferenceLoader({ transport, slot, maxBytes: bodyLimits.file }),
      storedJobs:
        store.keepUpstream &&
        createStoredJobs(async (tasks) => store.keepUpstream?.(task.id, tasks), task.upstream),
      // Of a task that is continued, the images that came before are already shown.
      onImage: task.images.length === 0 ? createImageWriter({ task, logger }, options) : undefined,
    });
  } catch (error) {
    slot.release();
    throw error;
  }
}

/** A stored request as the readers of requests see it. With its length, so that one that can never fit is refused. */
function toRequest(body: TaskBody): Omit<GatewayRequest, "body"> {
  const length = body.kind === "stored" ? String(body.byteLength) : null;
  const headers = new Map([
    ["content-type", "application/json"],
    ["content-length", length],
  ]);
  return { ...TASK_REQUEST, headers: { get: (name) => headers.get(name) ?? null } };
}

const TASK_REQUEST = { method: "POST", url: "/", signal: { aborted: false } } as const;

/** Returns `undefined` if the task can never run. */
function findPostponement(error: unknown): "crowded" | "postponed" | undefined {
  if (!isGatewayError(error)) return undefined;
  // A task of a paused model waits, and does not keep those of other callers waiting.
  if (error.code === "rate_limit_exceeded" || error.code === "model_paused") return "crowded";
  return POSTPONING.has(error.code) ? "postponed" : undefined;
}

/** Errors of a moment. `request_timeout`: the store of results was too slow. */
const POSTPONING: ReadonlySet<string> = new Set(["gateway_unavailable", "overloaded", "request_timeout"]);

/** In UTF-16 units. A longer image is only in the result. */
const MAX_IMAGE_LENGTH = 8 * 1024;

/** Writes the images that arrive into the task, one write at a time, so that clients see them before the result. */
function createImageWriter(
  { task, logger }: TaskToEnd,
  { store, track }: RunTaskOptions,
): NonNullable<NormalizedCall["onImage"]> {
  let written = Promise.resolve();
  return (image) => {
    const json = JSON.stringify(image);
    if (json.length > MAX_IMAGE_LENGTH) return;
    written = written
      .then(() => store.addImages(task.id, [json]))
      .catch((err: unknown) => {
        logger.warn({ task: task.id, err }, "The task store failed; an image is shown with the result only.");
      });
    track(written);
  };
}

interface TaskToEnd {
  readonly task: TakenTask;
  readonly logger: Logger;
}

/** Ends a task that cannot be sent, and reports why. Its hold is released. */
async function endUnsent(
  parts: Configured,
  unsent: TaskToEnd,
  { error, options }: { readonly error: unknown; readonly options: RunTaskOptions },
): Promise<void> {
  const { id, requestId, createdAt, operation, caller, model } = unsent.task;
  const time = new Date(createdAt).toISOString();
  const report = createReport(
    parts,
    { id: requestId, receivedAt: createdAt, time, operation, caller, model },
    { kind: "task", task: id },
  );
  const shown = toErrorJson(report.refused(error), parts);
  report.observer?.close();
  await endTask(parts, unsent, { end: { id, status: "failed", error: shown }, options });
}

/** Ends a task that an earlier process sent and that cannot be continued, such as one whose model is gone. */
async function endUncontinued(
  parts: Configured,
  sent: TaskToEnd,
  { error, options }: { readonly error: unknown; readonly options: RunTaskOptions },
): Promise<void> {
  const { task } = sent;
  const billed = toBilled(task, readTaskInput(task.input));
  const report = createReport(parts, billed, { kind: "task", task: task.id });
  const refused = report.refused(error);
  const { observer } = report;
  const { record } = await endLost(
    parts,
    { ...billed, observer },
    { hold: "of a task", status: refused.status },
  );
  const end = { id: task.id, status: "failed", error: toErrorJson(refused, parts), record } as const;
  await endTask(parts, sent, { end, options });
}

/** Writes the end of a task and of its hold, and deletes its request. */
async function endTask(
  { holds }: Configured,
  { task, logger }: TaskToEnd,
  { end, options }: { readonly end: TaskEnd; readonly options: RunTaskOptions },
): Promise<void> {
  // The result and the error are not logged: they can be long, and have what clients wrote.
  const { status, record } = end;
  await holds.write(() => options.store.end(end), {
    requestId: task.requestId,
    task: task.id,
    status,
    record,
  });
  options.track(removeBodies([task.input], { objects: options.objects, logger }));
}

function toErrorJson(error: GatewayError, { redactKeys }: Pick<Configured, "redactKeys">): string {
  return JSON.stringify(toEnvelope(error, redactKeys).error);
}
