import { type AdmissionParts, admitToLimits } from "../admission/admit.js";
import type { Pauses } from "../admission/pauses.js";
import { mergeLimits } from "../admission/rate-limits.js";
import type { TakeSlot } from "../admission/slot.js";
import type { Delivery } from "../billing/delivery.js";
import { endFailed, settleUnknown } from "../billing/hold.js";
import { restorePrice } from "../billing/pricing.js";
import type { BilledRequest } from "../billing/records.js";
import type { TakenTask, TaskEnd, TaskStore } from "../billing/task-store.js";
import { GatewayError, isGatewayError } from "../errors.js";
import { createReport, type ReportParts } from "../events.js";
import type { GatewayRequest } from "../http.js";
import { type Logger, RequestLogger } from "../logger.js";
import type { ModelResolver } from "../models/resolve-model.js";
import type { SecretMask } from "../redact.js";
import { readJson } from "../request/json.js";
import { type BodyLimits, normalizeRequest } from "../request/read-request.js";
import { idempotencyScopeOf } from "../request/route.js";
import type { Call, CallParts } from "../responses/call.js";
import { toEnvelope } from "../responses/envelope.js";
import { runCall } from "../run-call.js";
import type { CallerLimits, Preferences } from "../types.js";
import { createTaskKeeper } from "../upstream/kept-task.js";
import { createReferenceLoader } from "../upstream/references.js";
import type { Repeat } from "../util/async.js";
import { openBody, removeBodies } from "./task-body.js";
import { readTaskInput, type TaskBody, type TaskInput } from "./task-input.js";
import { keepResult } from "./task-result.js";

/** What running a task needs of the gateway. */
export interface RunTaskParts extends CallParts, AdmissionParts, ReportParts {
  readonly pauses: Pauses;
  readonly takeSlot: TakeSlot;
  readonly resolveModel: ModelResolver;
  readonly limits: CallerLimits | undefined;
  readonly preferences: Preferences;
  readonly bodyLimits: BodyLimits;
  readonly delivery: Delivery;
  readonly repeat: Repeat;
  /** Masks our keys in errors of the gateway. */
  readonly maskKeys: SecretMask;
}

/** What a worker gives with a task. */
export interface RunTaskOptions {
  readonly store: TaskStore;
  /** How long the task is kept after its end, in milliseconds. */
  readonly keepMs: number;
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
  parts: RunTaskParts,
  task: TakenTask,
  options: RunTaskOptions,
): Promise<BegunTask> {
  const logger = new RequestLogger(parts.logger, task.requestId);
  let prepared: PreparedTask;
  try {
    prepared = await prepareTask(parts, task, logger);
  } catch (error) {
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
  const unsent =
    task.upstream === undefined ? await markSent(parts, prepared, options) : continueSent(options);
  if (unsent !== undefined) {
    prepared.release();
    return unsent;
  }
  const ended = sendTask(parts, prepared, options).finally(() => {
    prepared.release();
    options.track(parts.delivery.run());
  });
  return { kind: "sent", ended };
}

async function markSent(
  parts: RunTaskParts,
  { task, logger }: PreparedTask,
  { store, signal }: RunTaskOptions,
): Promise<UnsentTask | undefined> {
  if (signal.aborted) return { kind: "postponed" };
  try {
    return (await store.markSent(task.id)) ? undefined : { kind: "ended" };
  } catch (err) {
    logger.warn({ task: task.id, err }, "The task store failed; the task was not sent.");
    return { kind: "unsure", error: toErrorJson(markError(), parts) };
  }
}

/** A task that an earlier process sent is continued, and not marked or sent again. */
const continueSent = ({ signal }: RunTaskOptions): UnsentTask | undefined =>
  signal.aborted ? { kind: "postponed" } : undefined;

function markError(): GatewayError {
  return new GatewayError(
    "gateway_unavailable",
    "This server could not store that the task was about to be sent: submit it again. Nothing was sent or charged.",
  );
}

/** A task whose request is valid and whose caller may run it now. */
interface PreparedTask {
  readonly task: TakenTask;
  readonly call: Omit<Call, "hold" | "keepAlive" | "report">;
  readonly billed: BilledRequest;
  /** What links its run to its submission, for telemetry. */
  readonly trace: string | undefined;
  readonly logger: Logger;
  /** Releases the slot and the admission. */
  readonly release: () => void;
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
    group,
    model,
    task: id,
    ...attribution,
    bounds,
    price: price && restorePrice(price),
  };
}

/** @throws GatewayError, or what a function of the operator threw */
async function prepareTask(parts: RunTaskParts, task: TakenTask, logger: Logger): Promise<PreparedTask> {
  const input = readTaskInput(task.input);
  const { endpoint, caller, isForm } = input;
  const callerLimits = mergeLimits(caller.limits, parts.limits);
  const read = toRequest(input.body);
  const slot = parts.takeSlot(read, { id: caller.id, concurrent: callerLimits.concurrent });
  try {
    const { results, bodyLimits, preferences } = parts;
    const body = await openBody(input.body, results?.objects);
    const { minBytesPerSecond, slowAfterSeconds } = bodyLimits;
    const pace = { minBytesPerSecond, seconds: slowAfterSeconds, repeat: parts.repeat };
    const fields = await readJson({ ...read, body }, Infinity, { bytes: slot.bytes, pace });
    const model = parts.resolveModel(fields["model"], caller, endpoint.operation);
    const request = normalizeRequest(fields, {
      endpoint,
      isForm,
      model,
      caller,
      preferences,
      storesResults: results !== undefined,
      linksOnly: results?.objects === undefined,
    });
    const billed = toBilled(task, input);
    const limited = { request, caller, callerLimits, model, billed, fields, headers: read.headers };
    const idempotencyScope = idempotencyScopeOf(endpoint);
    const moment = task.upstream === undefined ? "run" : "continuation";
    const admission = await admitToLimits(parts, { ...limited, idempotencyScope }, moment);
    if (admission.kind === "replay") throw new TypeError("A task has no idempotency key of its own.");
    return {
      task,
      billed,
      trace: input.trace,
      logger,
      call: {
        id: task.requestId,
        request,
        model,
        logger,
        keptBytes: 0,
        bytes: slot.bytes,
        loadReferences: createReferenceLoader({
          transport: parts.transport,
          slot,
          maxBytes: bodyLimits.file,
        }),
        caller: caller.id,
        linkBase: input.linkBase,
      },
      release() {
        slot.release();
        void admission.finish({ kind: "forget" });
      },
    };
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

/** Sends a task and ends it. Does not reject. */
async function sendTask(parts: RunTaskParts, prepared: PreparedTask, options: RunTaskOptions): Promise<void> {
  const { task, billed, trace } = prepared;
  const { name: model, entry } = prepared.call.model;
  const report = createReport(
    parts,
    { ...billed, model, entry },
    { kind: "task", task: task.id, link: trace },
  );
  const hold = parts.holds.adopt({ ...billed, observer: report.observer });
  // Of a task that is continued, the images that came before are already shown.
  const onImage = task.images.length === 0 ? createImageWriter(prepared, options) : undefined;
  const { store } = options;
  const taskKeeper =
    store.keepUpstream &&
    createTaskKeeper(async (tasks) => store.keepUpstream?.(task.id, tasks), task.upstream);
  const call: Call = { ...prepared.call, report, hold, onImage, taskKeeper, keepAlive: options.track };
  const end = await readEnd(parts, call, options).catch(async (error: unknown) => {
    await endFailed(hold);
    return { status: "failed", error: toErrorJson(report.refused(error), parts) } as const;
  });
  // If the gateway has closed and given the call up, a sweep ends the task.
  if ((await hold.ended).state === "unresolved") return;
  await endTask(parts, prepared, { end: { id: task.id, ...end, record: hold.record }, options });
}

/** @throws GatewayError if there is no result */
async function readEnd(
  parts: RunTaskParts,
  call: Call,
  { keepMs }: RunTaskOptions,
): Promise<Pick<TaskEnd, "status" | "result">> {
  const response = await runCall(parts, call, NEVER_LEAVES);
  const objects = parts.results?.objects;
  return {
    status: "completed",
    result: await keepResult(response, { objects, until: parts.now() + keepMs }),
  };
}

/** In UTF-16 units. A longer image is only in the result. */
const MAX_IMAGE_LENGTH = 8 * 1024;

/** Writes the images that arrive into the task, one write at a time, so that clients see them before the result. */
function createImageWriter(
  { task, logger }: PreparedTask,
  { store, track }: RunTaskOptions,
): NonNullable<Call["onImage"]> {
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

/** The client of a task is the task store: it does not disconnect. */
const NEVER_LEAVES = { signal: { aborted: false } };

/** Ends a task that cannot be sent, and reports why. Its hold is released. */
async function endUnsent(
  parts: RunTaskParts,
  unsent: Pick<PreparedTask, "task" | "logger">,
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
  parts: RunTaskParts,
  sent: Pick<PreparedTask, "task" | "logger">,
  { error, options }: { readonly error: unknown; readonly options: RunTaskOptions },
): Promise<void> {
  const { task } = sent;
  const billed = toBilled(task, readTaskInput(task.input));
  const report = createReport(parts, billed, { kind: "task", task: task.id });
  const refused = report.refused(error);
  const hold = parts.holds.adopt({ ...billed, observer: report.observer });
  await settleUnknown(hold, { status: refused.status, errorCode: "outcome_unknown" });
  const end = {
    id: task.id,
    status: "failed",
    error: toErrorJson(refused, parts),
    record: hold.record,
  } as const;
  await endTask(parts, sent, { end, options });
}

/** Writes the end of a task and of its hold, and deletes its request. */
async function endTask(
  { holds, results }: RunTaskParts,
  { task, logger }: Pick<PreparedTask, "task" | "logger">,
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
  options.track(removeBodies([task.input], { objects: results?.objects, logger }));
}

function toErrorJson(error: GatewayError, { maskKeys }: Pick<RunTaskParts, "maskKeys">): string {
  return JSON.stringify(toEnvelope(error, maskKeys).error);
}
