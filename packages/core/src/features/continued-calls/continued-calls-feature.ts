import type { Commit } from "../../billing/commit.js";
import { KEPT_HOLDS, type KeptHold, type KeptHoldStore } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import { type PriceTerms, restorePrice } from "../../billing/pricing.js";
import type { BilledRequest } from "../../billing/records.js";
import { findJobs } from "../../channels/channel.js";
import { createReport, type RequestReport } from "../../events.js";
import type { GatewayResponse } from "../../http.js";
import type { Configured, Feature, Kernel } from "../../kernel/feature.js";
import { NormalizedCall, type OpenStoredJobs } from "../../kernel/normalized-call.js";
import { type CallClient, endFailed, endLost, NO_RESPONSE, run } from "../../kernel/run.js";
import { RequestLogger } from "../../logger.js";
import type { ResolvedModel } from "../../models/resolve-model.js";
import type { ImageRequest } from "../../types.js";
import { createStoredJobs } from "../../upstream/stored-jobs.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/** The options of {@link continuedCalls}. */
export interface ContinuedCallsOptions {
  /** Whether calls are continued by `runTasks` only. Default `false`. */
  readonly byRunTasksOnly?: boolean | undefined;
}

/**
 * Requests whose provider accepted them as jobs are charged also if their process dies: another process waits for the job. The ledger
 * must keep such holds.
 */
export function continuedCalls({ byRunTasksOnly = false }: ContinuedCallsOptions = {}): Feature {
  return {
    name: "continued-calls",
    setup(kernel) {
      const continuer = createCallContinuer(kernel);
      return {
        configure: (configured) => ({ openStoredJobs: createJobStorage(configured) }),
        chores: continuer && [
          {
            takeOver: (once) => (byRunTasksOnly && once !== true ? undefined : continuer.run()),
            stop: continuer.stop,
          },
        ],
      };
    },
  };
}

/**
 * Requests whose provider accepted them as jobs, and whose process died. Their clients are gone. Another process waits for
 * the end of the provider's jobs, so that what was made is charged and recorded as usual.
 */
interface CallContinuer {
  /**
   * Takes the requests that dead processes left, and continues them. Resolves when they were taken. Does not reject.
   *
   * @returns a promise that is fulfilled when they have ended
   */
  readonly run: () => Promise<{ readonly ended: Promise<unknown> }>;
  /** From now on no further request is taken. */
  readonly stop: () => void;
}

/** How many requests are continued at the same time. The others wait for the next round. */
const MAX_CONTINUED = 32;
/** The least time for which a hold lasts from when it was taken. The time of the provider's job is stored with the hold. */
const HOLD_MS = 900_000;

/** Creates what continues the requests that dead processes left in a ledger. `undefined` if the ledger keeps none. */
function createCallContinuer({ ledger, load, track, logger }: Kernel): CallContinuer | undefined {
  const store = findAbility(ledger, KEPT_HOLDS);
  if (store === undefined) return undefined;
  let running = 0;
  let isStopped = false;

  async function take(from: KeptHoldStore): Promise<Promise<void>[]> {
    const limit = MAX_CONTINUED - running;
    if (isStopped || limit <= 0) return [];
    // The requests that need the options report why they cannot be loaded. Nothing was taken, so the next round tries again.
    const parts = await load().catch(() => undefined);
    if (parts === undefined) return [];
    const taken = await from.takeKept({ limit, ttlMs: HOLD_MS });
    running += taken.length;
    return taken.map((call) => continueCall(parts, call).finally(() => (running -= 1)));
  }

  return {
    async run() {
      try {
        const ended = Promise.all(await take(store));
        track(ended);
        return { ended };
      } catch (err) {
        logger.error({ err }, "Requests of an earlier process could not be continued; retrying every 10 s.");
        return { ended: Promise.resolve() };
      }
    },
    stop() {
      isStopped = true;
    },
  };
}

async function continueCall(parts: Configured, { hold, upstream }: KeptHold): Promise<void> {
  const { id, caller, operation } = hold;
  const logger = new RequestLogger(parts.logger, id);
  let stored: StoredCall;
  try {
    stored = readStoredCall(upstream);
  } catch (err) {
    logger.error({ err }, "A request of another process cannot be continued; a sweep ends its hold.");
    return;
  }
  const billed = toBilled(hold, stored);
  const report = createReport(parts, billed, { kind: "continued", link: stored.link });
  logger.warn({}, "The process that sent this request has ended; its provider's job is continued.");
  let model: ResolvedModel;
  try {
    model = parts.resolveModel(billed.model, { id: caller }, operation);
  } catch (error) {
    const { status } = report.refused(error);
    const { observer } = report;
    await endLost(parts, { ...billed, observer }, { hold: "of another process", status });
    return;
  }
  const call = new NormalizedCall({
    billed,
    caller: { id: caller },
    callerLimits: {},
    model,
    request: stored.request,
    logger,
    keepAlive: parts.track,
    linkBase: "",
    storedJobs: createStoredJobs(async (tasks) => {
      await parts.holds.keepUpstream?.(id, JSON.stringify({ ...stored, tasks }));
    }, stored.tasks),
    report,
  });
  // The client is gone: its images are neither stored nor given to the operator.
  await run({ ...parts, images: undefined }, call, new GoneClient(report));
}

/** The client of a call whose process has died. */
class GoneClient implements CallClient {
  readonly hold = "of another process";
  readonly #report: RequestReport;

  constructor(report: RequestReport) {
    this.#report = report;
  }

  /** Reads the body to its end, where the call is charged. */
  async receive({ body }: GatewayResponse): Promise<GatewayResponse> {
    if (typeof body === "string" || body instanceof Uint8Array) return NO_RESPONSE;
    const chunks = body[Symbol.asyncIterator]();
    for (let end = false; !end; ) end = (await chunks.next()).done === true;
    return NO_RESPONSE;
  }

  async fail(error: unknown, commit: Commit): Promise<GatewayResponse> {
    this.#report.refused(error);
    await endFailed(commit);
    return NO_RESPONSE;
  }
}

function toBilled(hold: KeptHold["hold"], { receivedAt, bounds, price }: StoredCall): BilledRequest {
  const { id, time, caller, group, model, operation, endUser, tags } = hold;
  return {
    endUser,
    tags,
    id,
    receivedAt,
    time,
    caller,
    group,
    model,
    operation,
    bounds,
    price: price && restorePrice(price),
  };
}

/** Creates what stores calls and their jobs with the holds. `undefined` if the ledger cannot store them. */
function createJobStorage({
  holds,
  prices,
}: Pick<Configured, "holds" | "prices">): OpenStoredJobs | undefined {
  const { keepUpstream } = holds;
  if (keepUpstream === undefined) return undefined;
  return ({ model, request, billed }, link) => {
    if (!usesJobs(model)) return undefined;
    const { id, receivedAt, bounds, group } = billed;
    return createStoredJobs(async (tasks) => {
      const price = prices?.findTerms(model.name, group);
      const call: StoredCall = {
        version: VERSION,
        receivedAt,
        bounds,
        price,
        request: withoutContent(request),
        tasks,
        link,
      };
      await keepUpstream(id, JSON.stringify(call));
    });
  };
}

const usesJobs = ({ channels }: ResolvedModel): boolean =>
  channels.some(({ dialect }) => findJobs(dialect) !== undefined);

/** A request as it is stored with its hold: what is needed to read the result and to charge it. */
interface StoredCall extends Pick<BilledRequest, "receivedAt" | "bounds"> {
  /** The format of this object. A gateway leaves a format that it does not know to others. */
  readonly version: 1;
  /** Absent: the gateway had no `billing`. */
  readonly price?: PriceTerms | undefined;
  readonly request: ImageRequest;
  /** What `createStoredJobs` wrote. The name is that of older versions. */
  readonly tasks: string;
  /** `CallObserver.link` of the call, if it was observed. */
  readonly link?: string | undefined;
}

const VERSION = 1;

/** @throws TypeError if it was written by a newer version, or is damaged */
function readStoredCall(upstream: string): StoredCall {
  const value: unknown = JSON.parse(upstream);
  if (isStoredCall(value)) return value;
  throw new TypeError("What was stored with a hold has a format that this gateway does not know.");
}

/** Whether `createJobStorage` wrote this value. What is inside of its members is not checked again. */
function isStoredCall(value: unknown): value is StoredCall {
  return (
    isJsonObject(value) &&
    value["version"] === VERSION &&
    typeof value["receivedAt"] === "number" &&
    isJsonObject(value["bounds"]) &&
    isJsonObject(value["request"]) &&
    typeof value["tasks"] === "string"
  );
}

const MAX_STORED_STRING = 32;
const MAX_STORED_FIELDS = 16 * 1024;

/**
 * A request as it is needed to read its result. Nothing is sent again, so a ledger need not store prompts and images. Of the
 * fields it stores numbers, booleans and short strings, such as a size. The images are only counted, so links do.
 */
function withoutContent(request: ImageRequest): ImageRequest {
  const { mask: _mask, markup: _markup, ...rest } = request;
  const upstreamFields = pickShort(request.upstreamFields);
  const isShort = JSON.stringify(upstreamFields).length <= MAX_STORED_FIELDS;
  return {
    ...rest,
    prompt: "",
    images: [],
    // Links cost nothing. The client is gone.
    responseFormat: "url",
    needsLinks: undefined,
    stream: false,
    streamFormat: undefined,
    upstreamFields: isShort ? upstreamFields : {},
  };
}

function pickShort(fields: JsonObject): JsonObject {
  const short: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "prompt" || name === "negative_prompt") continue;
    const isShort = typeof value === "string" && value.length <= MAX_STORED_STRING;
    if (isShort || typeof value === "number" || typeof value === "boolean") short[name] = value;
    if (isJsonObject(value)) short[name] = pickShort(value);
  }
  return short;
}
