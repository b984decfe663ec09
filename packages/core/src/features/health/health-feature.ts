import { findChannelStates } from "../../channels/channel-status.js";
import { isGatewayError } from "../../errors.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Feature, Kernel } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import { checkMethod, toPagePattern } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import { settlesWithin } from "../../util/async.js";
import type { AdmissionRequest, AdmissionStore } from "../limits/store.js";

/** Whether a part of the gateway works. */
export type HealthState = "ok" | "failing";

/** The result of the last check of a ledger or an admission store. */
export interface HealthCheckStatus {
  /** `unknown`: it was not checked yet. `GET {base}/healthz` and `gateway.checkStatus()` check it; `gateway.status()` does not. */
  readonly state: HealthState | "unknown";
  /** When the state was found out, ISO 8601, UTC. Absent before the first check. */
  readonly checkedAt?: string;
}

/** One check, which many callers share. */
interface HealthCheck {
  /** Returns within {@link CHECK_LIMIT_MS}, whatever the checked part does. Does not reject. */
  run(): Promise<HealthState>;
  status(): HealthCheckStatus;
}

/** In milliseconds. Longer than a slow query, and shorter than the second after which many monitors give up. */
export const CHECK_LIMIT_MS = 800;
/** For this time, the result of a check is used again. */
const CACHE_MS = 1_000;
/** A check that has not ended after this time is lost, and another one is made: some hosts stop what a request began. */
const LOST_MS = 10_000;

/** What {@link createHealthCheck} needs. */
interface HealthCheckOptions {
  /** Names the checked part in the log. */
  readonly name: string;
  /** Rejects if the part does not work. May hang. */
  readonly check: () => Promise<unknown>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
}

/**
 * Creates a check. At most one is in progress: callers at the same time share it, so that a part that hangs gets no second
 * request. The log gets a line when the state changes.
 */
function createHealthCheck({ name, check, now, logger }: HealthCheckOptions): HealthCheck {
  let pending: Check | undefined;
  let last: { readonly state: HealthState; readonly endedAt: number; readonly checkedAt: string } | undefined;

  const end = (state: HealthState, error?: unknown): HealthState => {
    if (state === "failing" && last?.state !== "failing") {
      logger.error({ err: error }, `The health check of the ${name} failed.`);
    } else if (state === "ok" && last?.state === "failing") {
      logger.warn({}, `The health check of the ${name} succeeds again.`);
    }
    last = { state, endedAt: performance.now(), checkedAt: new Date(now()).toISOString() };
    return state;
  };

  const begin = (): Check => {
    const own: Check = { begunAt: performance.now(), result: callCheck(check).then(finish) };
    function finish({ error }: { readonly error?: unknown }): void {
      // A check that was lost must not overwrite the result of a later one.
      if (pending !== own) return;
      pending = undefined;
      end(error === undefined ? "ok" : "failing", error);
    }
    return own;
  };

  return {
    async run() {
      const at = performance.now();
      if (last !== undefined && at - last.endedAt < CACHE_MS) return last.state;
      if (pending === undefined || at - pending.begunAt >= LOST_MS) pending = begin();
      const { begunAt, result } = pending;
      const restMs = begunAt + CHECK_LIMIT_MS - at;
      const hasEnded = restMs > 0 && (await settlesWithin(result, restMs));
      if (hasEnded && last !== undefined) return last.state;
      return end("failing", new Error(`There was no result after ${CHECK_LIMIT_MS} ms.`));
    },
    status: () =>
      last === undefined ? { state: "unknown" } : { state: last.state, checkedAt: last.checkedAt },
  };
}

/** A check in progress. */
interface Check {
  /** By `performance.now()`. */
  readonly begunAt: number;
  readonly result: Promise<void>;
}

/** Calls a check. The result has no error if the part works. */
async function callCheck(check: HealthCheckOptions["check"]): Promise<{ readonly error?: unknown }> {
  try {
    await check();
    return {};
  } catch (error) {
    return { error: error ?? new Error("It failed without an error.") };
  }
}

/** The checks of a gateway. */
export interface HealthChecks {
  readonly ledger: HealthCheck;
  /** The admission store. */
  readonly store: HealthCheck;
  /** Whether the options were loaded. */
  readonly options: HealthCheck;
}

const checksOf = new WeakMap<Kernel, Map<AdmissionStore | undefined, HealthChecks>>();

/** Returns the checks of a gateway and of its admission store, which the features that use them share. */
export function findHealthChecks(kernel: Kernel, store: AdmissionStore | undefined): HealthChecks {
  const known = checksOf.get(kernel) ?? new Map<AdmissionStore | undefined, HealthChecks>();
  const checks = known.get(store) ?? createHealthChecks(kernel, store);
  checksOf.set(kernel, known.set(store, checks));
  return checks;
}

/** The caller of the checks. It has no records, no limits and no key. */
const CHECK_CALLER = "calotype-healthz";

/** Creates the checks of a gateway. A ledger needs no function of its own for it: a balance is one small read. */
function createHealthChecks(
  { ledger, load, now, logger }: Kernel,
  store: AdmissionStore | undefined,
): HealthChecks {
  const create = (name: string, check: HealthCheckOptions["check"]): HealthCheck =>
    createHealthCheck({ name, check, now, logger });
  return {
    ledger: create("ledger", () => ledger.balance(CHECK_CALLER)),
    store: create("admission store", async () => {
      await (store?.ping ? store.ping() : store?.admit(NOTHING));
    }),
    options: create("options", load),
  };
}

/** A request that is always admitted, and for which a store counts and takes nothing. */
const NOTHING: AdmissionRequest = {
  id: CHECK_CALLER,
  caller: CHECK_CALLER,
  windows: [],
  concurrency: [],
  channels: [],
};

/** The options of {@link health}. */
export interface HealthOptions {
  /** The store that is checked: that of `limits`. Default: none, and the store is always `ok`. */
  readonly admission?: AdmissionStore | undefined;
}

/** `GET {base}/healthz`: whether the ledger, the admission store and the channels work. It needs no key. */
export function health({ admission }: HealthOptions = {}): Feature {
  return {
    name: "health",
    setup(kernel) {
      const checks = findHealthChecks(kernel, admission);
      return {
        routes: ({ respond }) => [
          {
            pattern: HEALTH_PATH,
            respond: (request) =>
              respond(request, (id) => respondWithHealth(kernel, checks, { request, id })),
          },
        ],
      };
    },
  };
}

export const HEALTH_PATH = /* @__PURE__ */ toPagePattern("healthz");

/**
 * Responds to `GET {base}/healthz`. Does not reject. It needs no key, and therefore says only whether each part works: a
 * client learns nothing about the configuration.
 *
 * @param id the request's id
 */
async function respondWithHealth(
  kernel: Kernel,
  checks: HealthChecks,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse> {
  try {
    checkMethod(request, "GET");
  } catch (error) {
    if (isGatewayError(error)) return renderError(error, { id, redact: String });
    throw error;
  }
  const [ledger, store] = await Promise.all([checks.ledger.run(), checks.store.run(), checks.options.run()]);
  const body = { ledger, store, channels: checkChannels(kernel) };
  const headers = toResponseHeaders("application/json", { id, ignored: [] });
  return { status: 200, headers, body: JSON.stringify(body) };
}

/** `failing` if a family has no channel that works: its models cannot be served. */
function checkChannels({ current, health: known, contributed }: Kernel): HealthState {
  const channels = current()?.channels;
  if (channels === undefined) return "failing";
  const states = findChannelStates(channels, { health: known, pauses: contributed().pauses }).map(
    ({ state }) => state,
  );
  const working = new Set(
    channels.filter((_, index) => states[index] === "ready").map(({ family }) => family),
  );
  return channels.every(({ family }) => working.has(family)) ? "ok" : "failing";
}
