import type { Caller, CallerPatch, CallerRow } from "../../wire.js";

/** The fields of the form of a caller, as the person writes them. */
export interface CallerFields {
  readonly group: string;
  readonly models: string;
  readonly expiresAt: string;
  readonly amount: string;
  readonly period: "total" | "day" | "week" | "month";
  readonly timeZone: string;
  readonly requestsPerMinute: string;
  readonly imagesPerMinute: string;
  readonly concurrent: string;
}

export const NO_FIELDS: CallerFields = {
  group: "",
  models: "",
  expiresAt: "",
  amount: "",
  period: "month",
  timeZone: "",
  requestsPerMinute: "",
  imagesPerMinute: "",
  concurrent: "",
};

/** Fills the form with a caller. */
export function toFields({ group, models, expiresAt, budget, limits = {} }: CallerRow): CallerFields {
  const periodic = typeof budget === "object" ? budget : undefined;
  return {
    group: group ?? "",
    models: models?.join(", ") ?? "",
    expiresAt: typeof expiresAt === "string" ? expiresAt.slice(0, 16) : "",
    amount: budget === undefined ? "" : String(typeof budget === "object" ? budget.amount : budget),
    period: periodic?.period ?? (budget === undefined ? "month" : "total"),
    timeZone: periodic?.timeZone ?? "",
    requestsPerMinute: String(limits.requestsPerMinute ?? ""),
    imagesPerMinute: String(limits.imagesPerMinute ?? ""),
    concurrent: String(limits.concurrent ?? ""),
  };
}

/** The settings that the form describes. An empty field is absent. The gateway checks the values. */
export function toSettings(fields: CallerFields): Omit<Caller, "id"> {
  const { group, expiresAt } = fields;
  const models = fields.models.split(/[,\s]+/).filter((name) => name !== "");
  const budget = toBudget(fields);
  const limits = Object.fromEntries(
    LIMITS.filter((name) => fields[name].trim() !== "").map((name) => [name, Number(fields[name])]),
  );
  return {
    ...(group.trim() !== "" && { group: group.trim() }),
    ...(models.length > 0 && { models }),
    ...(expiresAt !== "" && { expiresAt: `${expiresAt}:00Z` }),
    ...(budget !== undefined && { budget }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}

function toBudget({ amount, period, timeZone }: CallerFields): Caller["budget"] {
  if (amount.trim() === "") return undefined;
  if (period === "total") return amount.trim();
  return {
    amount: amount.trim(),
    period,
    ...(timeZone.trim() !== "" && { timeZone: timeZone.trim() }),
  };
}

const LIMITS = ["requestsPerMinute", "imagesPerMinute", "concurrent"] as const;

/**
 * What the form has changed, as changes to send one after another. Only changed fields are sent, so that a change by another
 * person to another field stays. A field that was emptied is removed.
 */
export function toPatches(caller: CallerRow, after: CallerFields): readonly CallerPatch[] {
  const [old, now] = [toSettings(toFields(caller)), toSettings(after)];
  const names = ["group", "models", "expiresAt", "budget"] as const;
  const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  const settings: CallerPatch = Object.fromEntries(changed.map((name) => [name, now[name] ?? null]));
  const limits = LIMITS.filter((name) => old.limits?.[name] !== now.limits?.[name]);
  if (limits.length === 0) return changed.length === 0 ? [] : [settings];
  if (limits.every((name) => now.limits?.[name] !== undefined)) {
    return [{ ...settings, limits: Object.fromEntries(limits.map((name) => [name, now.limits?.[name]])) }];
  }
  // One limit alone cannot be removed: `null` lifts the limit of the gateway. So all are removed, and the others set again.
  const lifted = LIMITS.filter((name) => caller.limits?.[name] === null && now.limits?.[name] === undefined);
  const kept = { ...Object.fromEntries(lifted.map((name) => [name, null])), ...now.limits };
  const cleared = { ...settings, limits: null };
  return Object.keys(kept).length === 0 ? [cleared] : [cleared, { limits: kept }];
}
