import { isGatewayError, unavailable } from "../../errors.js";
import type { Kernel } from "../../kernel/feature.js";
import { foldCase } from "../../models/resolve-model.js";
import type { Caller, CallerLimits } from "../../types.js";
import { overlaps } from "../../util/series.js";
import { type LimitScope, listCallerLimits, mergeLimits } from "./rate-limits.js";
import type { AdmissionStore, Counts } from "./store.js";

/** A limit that applies to a caller, and how much of it is used. */
export interface LimitStatus {
  /** What is limited: requests or images in a window of time, or requests at the same time. */
  readonly name: "requests" | "images" | "concurrent";
  /** The key in `models` of the model whose limit it is. Absent for a limit on all requests of the caller. */
  readonly model?: string;
  /** The largest number that is allowed. */
  readonly limit: number;
  /** Can exceed the limit, if the limit was lowered. */
  readonly used: number;
  /** `limit - used`, at least 0. */
  readonly remaining: number;
  /** The length of the window in seconds. Absent for `concurrent`. */
  readonly windowSeconds?: number;
  /**
   * When the window ends and all of the limit is free again, in milliseconds since 1970. Absent for `concurrent`, and if
   * nothing was counted since the last window.
   */
  readonly resetsAt?: number;
}

/** Reads how close callers are to their limits. */
export interface LimitReports {
  /**
   * Reads the limits that apply to a caller: its own ones or else those of the gateway, then those for each model that it may
   * use. Nothing is counted. `undefined` if the admission store cannot tell. Without limits the list is empty, and the store
   * is not asked.
   *
   * @throws GatewayError `gateway_unavailable` if the admission store cannot be reached
   * @example
   * ```ts
   * import type { Gateway } from "@calotype/core";
   *
   * async function isNearLimit(gateway: Gateway): Promise<boolean> {
   *   const limits = await gateway.limits.read({ id: "web-shop", limits: { requestsPerMinute: 60 } });
   *   return limits?.some(({ limit, remaining }) => remaining < limit / 10) ?? false;
   * }
   * ```
   */
  read(caller: Pick<Caller, "id" | "limits" | "models">): Promise<readonly LimitStatus[] | undefined>;
}

/**
 * Creates the reports of a gateway.
 *
 * @param gatewayLimits the limits of callers that have none of their own
 */
export function createLimitReports(
  { load, logger, now }: Pick<Kernel, "load" | "logger" | "now">,
  admissionStore: AdmissionStore,
  gatewayLimits: CallerLimits | undefined,
): LimitReports {
  const readCounts = async (caller: string, limits: ReturnType<typeof listCallerLimits>): Promise<Counts> => {
    try {
      return (await admissionStore.readCounts?.({ caller, ...limits })) ?? { windows: [], slots: [] };
    } catch (cause) {
      if (isGatewayError(cause)) throw cause;
      logger.error({ err: cause, caller }, "The admission store failed; limits could not be read.");
      throw unavailable("This server cannot read its rate limits at the moment: try again.", cause);
    }
  };
  return {
    async read({ id, limits: own, models: allowed }) {
      const { options } = await load();
      // Case does not matter in the models that a caller may use.
      const fold = options.caseInsensitiveNames === true ? foldCase : String;
      const models = Object.entries(options.models).filter(
        ([model]) => allowed === undefined || allowed.some((name) => overlaps(fold(name), fold(model))),
      );
      const limits = listCallerLimits({
        callerId: id,
        callerLimits: mergeLimits(own, gatewayLimits),
        modelLimits: Object.fromEntries(models.map(([model, { limits: ofModel = {} }]) => [model, ofModel])),
      });
      if (limits.windows.length === 0 && limits.concurrency.length === 0) return [];
      if (admissionStore.readCounts === undefined) return undefined;
      const counts = await readCounts(id, limits);
      return [
        ...limits.windows.map(({ name, limit, windowMs, model }, index) => {
          const { count = 0, resetMs = 0 } = counts.windows[index] ?? {};
          return {
            ...toStatus({ name, model, limit, used: count }),
            windowSeconds: windowMs / 1000,
            ...(count > 0 && { resetsAt: now() + resetMs }),
          };
        }),
        ...limits.concurrency.map(({ limit, model }, index) =>
          toStatus({ name: "concurrent", model, limit, used: counts.slots[index] ?? 0 }),
        ),
      ];
    },
  };
}

function toStatus({
  name,
  model,
  limit,
  used,
}: Pick<LimitStatus, "name" | "limit" | "used"> & LimitScope): LimitStatus {
  return { name, ...(model !== undefined && { model }), limit, used, remaining: Math.max(0, limit - used) };
}
