import * as z from "zod/mini";
import { type GatewayError, invalidRequest } from "../../errors.js";
import { callerIdSchema, callerSettings } from "../../options/caller-schema.js";
import type { Caller, CallerLimits } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { formatPath } from "../../util/parse-fields.js";

/** What can be set for a caller that is created at run time: the fields of an entry of the option `callers`. */
export type CallerSettings = Omit<Caller, "id">;

/**
 * Changes of a caller's fields. An absent field stays as it is, `null` removes it. `limits` are changed one by one, see
 * {@link LimitsPatch}; `limits: null` removes all limits of the caller.
 */
export type CallerPatch = {
  readonly [Name in Exclude<keyof CallerSettings, "limits">]?: CallerSettings[Name] | null;
} & { readonly limits?: LimitsPatch | null };

/**
 * Changes of a caller's limits: a number sets a limit, `null` lifts the gateway's limit, `"unset"` removes the caller's own
 * limit, so that the gateway's applies again. An absent limit stays.
 */
export type LimitsPatch = {
  readonly [Name in keyof CallerLimits]?: CallerLimits[Name] | typeof UNSET;
};

/** Not `null`, which lifts the gateway's limit, here as in the options. */
const UNSET = "unset";

/** One field that a change has changed. Without `from` it was not set before, without `to` it is not set any more. */
export interface ChangedField {
  /** Such as `budget` or `limits.concurrent`. `keys` lists the hints of the valid keys. */
  readonly field: string;
  /** The value before. Absent: the field was absent. */
  readonly from?: unknown;
  /** The value after. Absent: the field is absent. */
  readonly to?: unknown;
}

/** The schema of a caller that is created at run time, without its id and its keys. */
const callerSettingsSchema = /* @__PURE__ */ z.strictObject(callerSettings, "must be an object");

/** The version of the format. A change of the meaning of a field needs a new one, so that old gateways refuse it. */
const VERSION = 1;
/** The limit of the stores. */
const MAX_LENGTH = 65_536;

/**
 * Checks the settings of a caller, as those of the option `callers`.
 *
 * @throws GatewayError `invalid_request_error` that names the first wrong field
 */
export function checkCallerSettings(settings: unknown): CallerSettings {
  return dropAbsent(parse(callerSettingsSchema, settings));
}

/** @throws GatewayError `invalid_request_error` */
export function checkCallerId(id: unknown, field = "id"): string {
  return parse(callerIdSchema, id, field);
}

/** Writes settings for the store. They were checked before. */
export function writeCallerSettings(settings: CallerSettings): string {
  const { expiresAt, ...others } = settings;
  const json = JSON.stringify({
    version: VERSION,
    ...others,
    expiresAt: expiresAt instanceof Date ? expiresAt.toISOString() : expiresAt,
  });
  if (json.length <= MAX_LENGTH) return json;
  throw invalidRequest(
    `models is too long: the fields of a caller have at most ${MAX_LENGTH} characters.`,
    "models",
  );
}

/**
 * Reads settings of the store. A field that this version does not know must fail: ignoring it could lift a limit.
 *
 * @throws Error with the reason, without the settings
 */
export function readCallerSettings(json: string): CallerSettings {
  const written = parseObject(json);
  if (written === undefined)
    throw new Error("its settings in the ledger are damaged: they are not a JSON object");
  const { version, ...settings } = written;
  if (typeof version === "number" && version > VERSION) {
    throw new Error(
      `it was written by a newer version of calotype (format ${version}, this one knows ${VERSION}): update the package`,
    );
  }
  if (version !== VERSION) throw new Error("its settings in the ledger are damaged: version must be 1");
  const parsed = callerSettingsSchema.safeParse(settings);
  if (parsed.success) return dropAbsent(parsed.data);
  const { field, problem } = describe(parsed.error.issues[0]);
  throw new Error(`its settings in the ledger are damaged: ${field} ${problem}`);
}

/**
 * Applies a patch.
 *
 * @throws GatewayError `invalid_request_error` that names the first wrong field
 */
export function patchCallerSettings(settings: CallerSettings, patch: CallerPatch): CallerSettings {
  if (!isJsonObject(patch)) throw invalidRequest("The changes must be an object of fields.");
  const given: CallerPatch = patch;
  const changes = Object.entries(given).filter(([, value]) => value !== undefined);
  if (changes.length === 0) throw invalidRequest("There is nothing to change: name at least one field.");
  const removed = changes.filter(([, value]) => value === null).map(([name]) => name);
  const unknown = removed.find((name) => !Object.hasOwn(callerSettingsSchema.shape, name));
  if (unknown !== undefined) throw notAField(unknown);
  const { limits: written, ...set } = Object.fromEntries(changes.filter(([, value]) => value !== null));
  const { unset, ...toCheck } = splitLimits(written);
  const { limits, ...others } = checkCallerSettings({ ...set, ...toCheck });
  const patched: CallerSettings = {
    ...settings,
    ...others,
    ...(limits !== undefined && { limits: patchLimits(settings.limits, limits, unset) }),
  };
  return Object.fromEntries(
    Object.entries(patched).filter(([name, value]) => !removed.includes(name) && value !== undefined),
  );
}

/** Returns `undefined` if no limit remains, so that there is no field. */
function patchLimits(
  from: CallerLimits | undefined,
  limits: CallerLimits,
  unset: readonly string[],
): CallerLimits | undefined {
  const kept = Object.entries({ ...from, ...dropAbsent(limits) }).filter(([name]) => !unset.includes(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Separates the limits to remove from those that {@link checkCallerSettings} checks. A wrong name stays among the latter. */
function splitLimits(limits: unknown): { readonly unset: readonly string[]; readonly limits?: unknown } {
  if (limits === undefined) return { unset: [] };
  if (!isJsonObject(limits)) return { unset: [], limits };
  const entries = Object.entries(limits);
  return {
    unset: entries.filter(isUnset).map(([name]) => name),
    limits: Object.fromEntries(entries.filter((entry) => !isUnset(entry))),
  };
}

function isUnset([name, value]: readonly [string, unknown]): boolean {
  return value === UNSET && LIMIT_NAMES.includes(name);
}

const LIMIT_NAMES: readonly string[] = [
  "requestsPerMinute",
  "imagesPerMinute",
  "concurrent",
  "waitSeconds",
] satisfies readonly (keyof CallerLimits)[];

/** Lists the fields in which two settings differ. */
export function compareCallerSettings(from: CallerSettings, to: CallerSettings): readonly ChangedField[] {
  const [before, after] = [flatten(from), flatten(to)];
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((field) => {
    const [old, now] = [before.get(field), after.get(field)];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    return { field, ...(old !== undefined && { from: old }), ...(now !== undefined && { to: now }) };
  });
}

function flatten({ limits, ...others }: CallerSettings): ReadonlyMap<string, unknown> {
  const limitEntries = Object.entries(limits ?? {}).map(
    ([name, value]) => [`limits.${name}`, value] as const,
  );
  return new Map([...Object.entries(others), ...limitEntries]);
}

function dropAbsent(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function parse<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
  name?: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const { field, problem } = describe(issue, name);
  if (problem === NOT_A_FIELD) throw notAField(field);
  throw invalidRequest(`${field} ${problem}.`, name ?? (issue?.path.length === 0 ? undefined : field));
}

interface SettingIssue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

const NOT_A_FIELD = "is not a field of a caller";

/** The field of an issue, and a message that continues its name. */
function describe(
  issue: SettingIssue | undefined,
  name = "The caller",
): { readonly field: string; readonly problem: string } {
  if (issue === undefined) return { field: name, problem: "is not valid" };
  const { code, path, keys = [], message } = issue;
  if (code === "unrecognized_keys") {
    return { field: formatPath([...path, keys[0] ?? ""]), problem: NOT_A_FIELD };
  }
  return { field: path.length === 0 ? name : formatPath(path), problem: message };
}

function notAField(name: string): GatewayError {
  return invalidRequest(`${name} ${NOT_A_FIELD}.`, name);
}

function parseObject(json: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Not JSON: the caller of this function reports a damaged entry, without its content.
    return undefined;
  }
}
