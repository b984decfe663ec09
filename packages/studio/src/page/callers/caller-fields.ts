import type { Caller, CallerRow } from "../../wire.js";

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
  readonly waitSeconds: string;
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
  waitSeconds: "",
};

/** Fills the form with a caller. */
export function toFields({ group, models, expiresAt, budget, limits = {} }: CallerRow): CallerFields {
  const periodic = typeof budget === "object" ? budget : undefined;
  return {
    group: group ?? "",
    models: models?.join(", ") ?? "",
    expiresAt: typeof expiresAt === "string" ? toLocal(expiresAt) : "",
    amount: budget === undefined ? "" : String(typeof budget === "object" ? budget.amount : budget),
    period: periodic?.period ?? (budget === undefined ? "month" : "total"),
    timeZone: periodic?.timeZone ?? "",
    requestsPerMinute: toLimitField(limits.requestsPerMinute),
    imagesPerMinute: toLimitField(limits.imagesPerMinute),
    concurrent: toLimitField(limits.concurrent),
    waitSeconds: toLimitField(limits.waitSeconds),
  };
}

/** A time as a field of the form has it: in the person's time zone, to the minute. */
function toLocal(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  // A time whose parts in UTC are those of the clock here.
  const shifted = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** What is not a time stays as it is: the gateway refuses it and names the field. */
function fromLocal(written: string): string {
  const time = new Date(written);
  return Number.isNaN(time.getTime()) ? written : time.toISOString();
}

/** What a person writes for a limit of the gateway that is lifted. */
const NO_LIMIT = "none";

function toLimitField(limit: number | null | undefined): string {
  return limit === null ? NO_LIMIT : String(limit ?? "");
}

/** A lifted limit is `null`. What is not a number stays as it is: the gateway refuses it and names the field. */
function fromLimitField(written: string): number | string | null {
  const trimmed = written.trim();
  if (trimmed.toLowerCase() === NO_LIMIT) return null;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : trimmed;
}

/** The settings of a caller as they are sent. */
export interface WrittenSettings extends Omit<Caller, "id" | "limits"> {
  readonly limits?: Readonly<Partial<Record<(typeof LIMITS)[number], number | string | null>>>;
}

/** The settings that the form describes. An empty field is absent. The gateway checks the values. */
export function toSettings(fields: CallerFields): WrittenSettings {
  const { group, expiresAt } = fields;
  const models = fields.models.split(/[,\s]+/).filter((name) => name !== "");
  const budget = toBudget(fields);
  const limits: WrittenSettings["limits"] = Object.fromEntries(
    LIMITS.filter((name) => fields[name].trim() !== "").map((name) => [name, fromLimitField(fields[name])]),
  );
  return {
    ...(group.trim() !== "" && { group: group.trim() }),
    ...(models.length > 0 && { models }),
    ...(expiresAt !== "" && { expiresAt: fromLocal(expiresAt) }),
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

const LIMITS = ["requestsPerMinute", "imagesPerMinute", "concurrent", "waitSeconds"] as const;

/**
 * What the form has changed; `undefined` if nothing. Only changed fields are sent, so that a change by another person to another
 * field stays. A field that was emptied is removed.
 */
export function toPatch(caller: CallerRow, after: CallerFields): object | undefined {
  const [old, now] = [toSettings(toFields(caller)), toSettings(after)];
  const names = ["group", "models", "expiresAt", "budget"] as const;
  const changed = names.filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  const limits = LIMITS.filter((name) => old.limits?.[name] !== now.limits?.[name]);
  if (changed.length + limits.length === 0) return undefined;
  return {
    ...Object.fromEntries(changed.map((name) => [name, now[name] ?? null])),
    ...(limits.length > 0 && {
      limits: Object.fromEntries(
        limits.map((name) => [name, now.limits?.[name] === undefined ? "unset" : now.limits[name]]),
      ),
    }),
  };
}
