import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { invalidRequest, isGatewayError } from "../../errors.js";
import type { Caller } from "../../types.js";
import { isTimeZone } from "../../util/time-zone.js";
import type { CallerPatch } from "../callers/caller-settings.js";
import { type Callers, createCallers } from "../callers/callers.js";
import { findPeriod } from "../periods/periods.js";
import { readTagKey, type TotalsKey, type UsageTotal } from "../usage/usage-reports.js";
import { parseBudget } from "./budget-argument.js";
import { findNearest } from "./find-nearest.js";
import { type LedgerAddress, LedgerError, type OpenedCallerStore } from "./open-caller-store.js";
import {
  OPTIONS_NOT_LISTED,
  printAudit,
  printCallers,
  printKey,
  printNext,
  printRotated,
  printTotals,
  toPrintable,
} from "./print-callers.js";
import { type FoundRequest, printRequest } from "./print-request.js";
import { parseTime } from "./time-argument.js";

/** The parts of the process that the commands for callers use. */
export interface CallerCommandHost {
  /** Writes to stdout. */
  write(text: string): void;
  /** Writes to stderr. */
  complain(text: string): void;
  /** The variables of the process and of the file `.env`. Called once, and only if a ledger is needed. */
  readEnv(): Readonly<Record<string, string | undefined>>;
  /** Milliseconds since 1970. */
  now(): number;
  /** Who runs the command. */
  readonly user: string;
  openCallerStore(address: LedgerAddress): Promise<OpenedCallerStore>;
}

export const CALLER_HELP = `Callers of a gateway with a ledger, while it runs:

  calotype-key create --id ID [fields]    creates a caller, and prints its key once
  calotype-key list [--limit N --after ID]
  calotype-key change --id ID [fields] [--unset FIELD]
  calotype-key rotate --id ID [--overlap-seconds N]
                                          creates another key; those before it end after a day, or N seconds
  calotype-key revoke --id ID             ends all keys of the caller at once
  calotype-key audit [--id ID --limit N]  who changed what
  calotype-key prune-audit --before TIME  removes the older lines of audit
  calotype-key usage [--by KEY --id ID --from TIME --to TIME]
                                          requests, images and charges by caller, model, channel, day (UTC), period,
                                          endUser, or the value of a tag (tag:team)
  calotype-key usage --by day|week|month --time-zone ZONE --from TIME --to TIME [--id ID]
                                          the same by the days, weeks or months of a time zone
  calotype-key request ID                 what became of a request: its record, or why it was refused

create and rotate make keys that begin with --prefix, default cal-.

Fields: --group NAME --budget AMOUNT[/PERIOD[/TIME-ZONE]] --models A,B --client NAME --expires-at TIME --response-format url|b64_json
        --stream-format native|openai --sizes strict|nearest
        --requests-per-minute N --images-per-minute N --concurrent N (none: no limit) --wait-seconds N
--unset removes a field: group, budget, models, client, expiresAt, responseFormat, streamFormat, sizes, limits,
limits.requestsPerMinute, limits.imagesPerMinute, limits.concurrent, limits.waitSeconds. Without a limit of its own, a caller has the gateway's.

TIME is a time with a zone (2026-01-31T00:00:00Z), the beginning of a day (2026-01-31, today, yesterday, tomorrow), or a
distance from now (24h, 7d, 2w: ago, for --expires-at ahead). Days are those of UTC, with --time-zone those of that zone.

The ledger is CALOTYPE_LEDGER, or --ledger: the path of an SQLite file, or postgres://… (with --schema NAME). Without both it is
DATABASE_URL, if that begins with postgres://. Variables are also read from the file .env in this folder. Only create makes a
ledger that does not exist.
--json prints JSON, --by NAME says who makes the change.
`;

const text = { type: "string" } as const;
const COMMON = { ledger: text, schema: text, json: { type: "boolean" } } as const;
const MADE_BY = { ...COMMON, by: text } as const;
const FIELDS = {
  group: text,
  budget: text,
  models: text,
  client: text,
  "expires-at": text,
  "response-format": text,
  "stream-format": text,
  sizes: text,
  "requests-per-minute": text,
  "images-per-minute": text,
  concurrent: text,
} as const;

type Command =
  | "create"
  | "list"
  | "change"
  | "rotate"
  | "revoke"
  | "audit"
  | "prune-audit"
  | "usage"
  | "request";

/** The options of each command. */
const COMMANDS: Readonly<Record<Command, ParseArgsOptionsConfig>> = {
  create: { ...MADE_BY, id: text, prefix: text, ...FIELDS },
  list: { ...COMMON, limit: text, after: text },
  change: { ...MADE_BY, id: text, ...FIELDS, unset: { type: "string", multiple: true } },
  rotate: { ...MADE_BY, id: text, prefix: text, "overlap-seconds": text },
  revoke: { ...MADE_BY, id: text },
  audit: { ...COMMON, id: text, limit: text },
  "prune-audit": { ...COMMON, before: text },
  usage: { ...COMMON, by: text, "time-zone": text, id: text, from: text, to: text },
  request: { ...COMMON, id: text },
};

/** The names of the commands. */
export const CALLER_COMMANDS: readonly string[] = Object.keys(COMMANDS);

/** The words after a command, by the name of the option. */
interface Values {
  readonly [name: string]: string | boolean | readonly (string | boolean)[] | undefined;
}

/** Whether a word is the name of a command for callers. */
export function isCallerCommand(word: string | undefined): word is Command {
  return word !== undefined && Object.hasOwn(COMMANDS, word);
}

/** Runs a command. Returns the exit code: 0, 1 if it failed, 2 for wrong arguments. */
export async function runCallerCommand(
  command: Command,
  words: readonly string[],
  host: CallerCommandHost,
): Promise<number> {
  const values = parseWords(command, words);
  if (values === undefined) {
    host.complain(`${findProblem(command, words)}\n${SEE_HELP}`);
    return 2;
  }
  let opened: OpenedCallerStore | undefined;
  try {
    const run = prepare(command, values, host);
    const ledger = readString(values, "ledger") ?? findLedger(host.readEnv());
    if (ledger === undefined) {
      host.complain("Set CALOTYPE_LEDGER, or pass --ledger: the path of an SQLite file, or postgres://….\n");
      return 2;
    }
    const schema = readString(values, "schema");
    opened = await host.openCallerStore({ ledger, schema, mayCreate: command === "create" });
    host.write(await run(createCallers({ store: opened.store }), opened));
    return 0;
  } catch (error) {
    host.complain(`${toMessage(error)}\n`);
    if (!isGatewayError(error)) return 1;
    if (error.code === "caller_not_found") host.complain(OPTIONS_NOT_LISTED);
    return error.code === "invalid_request_error" ? 2 : 1;
  } finally {
    await opened?.close().catch((error: unknown) => host.complain(`${toMessage(error)}\n`));
  }
}

/** The last line of messages about wrong words. */
export const SEE_HELP = "calotype-key --help lists the commands and their options.\n";

/** The address of an app with a ledger of its own, or with PostgreSQL. An empty variable counts as unset. */
function findLedger(env: ReturnType<CallerCommandHost["readEnv"]>): string | undefined {
  const { CALOTYPE_LEDGER: ledger, DATABASE_URL: url } = env;
  if (ledger !== undefined && ledger !== "") return ledger;
  return url !== undefined && /^postgres(?:ql)?:\/\//i.test(url) ? url : undefined;
}

function parseWords(command: Command, words: readonly string[]): Values | undefined {
  // Only the id of a request may stand alone: any other lone word may be a key.
  const isLone = command === "request" && words[0]?.startsWith("-") === false;
  const args = isLone ? ["--id", ...words] : [...words];
  try {
    return parseArgs({ args, options: COMMANDS[command], strict: true, allowPositionals: false }).values;
  } catch {
    return undefined;
  }
}

/** The message repeats no argument that may be a key: only the name of an option, which has no digits. */
function findProblem(command: Command, words: readonly string[]): string {
  const known = COMMANDS[command];
  const names = words.map((word) => /^--([a-z]{1,20}(?:-[a-z]{1,20}){0,2})(?:=|$)/.exec(word)?.[1]);
  const unknown = names.find((name) => name !== undefined && !Object.hasOwn(known, name));
  if (unknown !== undefined) {
    const nearest = findNearest(unknown, Object.keys(known));
    const hint = nearest === undefined ? "" : ` Did you mean --${nearest}?`;
    return `The command ${command} has no option --${unknown}.${hint}`;
  }
  const isText = (name: string | undefined): name is string =>
    name !== undefined && known[name]?.type === "string";
  const last = names.find(
    (name, at) => isText(name) && words[at] === `--${name}` && (words[at + 1]?.startsWith("-") ?? true),
  );
  if (last !== undefined) return `--${last} needs a value.`;
  return `These arguments of ${command} are not valid: there is a word that belongs to no option.`;
}

function toMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  if (isGatewayError(error) || error instanceof LedgerError) return toPrintable(message);
  return `The ledger cannot be used: ${toPrintable(message === "" ? "it does not respond" : message)}`;
}

/**
 * Checks the arguments of a command, and returns what runs it and returns its output.
 *
 * @throws GatewayError `invalid_request_error`
 */
function prepare(
  command: Command,
  values: Values,
  host: Pick<CallerCommandHost, "user" | "now" | "complain">,
): (callers: Callers, opened: Pick<OpenedCallerStore, "usage" | "refusals">) => Promise<string> {
  const { user } = host;
  const isJson = values["json"] === true;
  const by = readString(values, "by") ?? user;
  const prefix = readString(values, "prefix");
  const limit = readNumber(values, "limit");
  const toOutput = <T>(result: T, print: (result: T) => string): string =>
    isJson ? `${JSON.stringify(result)}\n` : print(result);
  switch (command) {
    case "list": {
      const after = readString(values, "after");
      return async (callers) =>
        toOutput(await callers.list({ limit, after }), ({ callers: listed, next }) =>
          next === undefined ? printCallers(listed) : `${printCallers(listed)}${printNext(next)}`,
        );
    }
    case "audit": {
      const caller = readString(values, "id");
      return async (callers) => toOutput(await callers.audit({ limit, caller }), printAudit);
    }
    case "prune-audit": {
      const before = readTime(values, "before", host) ?? "";
      return async (callers) =>
        toOutput({ removed: await callers.pruneAudit({ before }) }, ({ removed }) => `Removed: ${removed}\n`);
    }
    case "usage": {
      if (values["time-zone"] !== undefined) {
        const { unit, sum } = readUnits(values, host);
        return async (_callers, { usage }) =>
          toOutput(await sum(usage), (totals) => printTotals(unit, totals));
      }
      const key = readTotalsKey(readString(values, "by") ?? "caller");
      const filter = {
        caller: readString(values, "id"),
        from: readTime(values, "from", host),
        to: readTime(values, "to", host),
      };
      return async (_callers, { usage }) =>
        toOutput(await usage.totals(key, filter), (totals) => printTotals(key, totals));
    }
    case "create": {
      const caller: Caller = { ...readFields(values, host), id: readId(values) };
      return async (callers) => toOutput(await callers.create(caller, { by, prefix }), printKey);
    }
    case "change": {
      const id = readId(values);
      const patch = readPatch(values, host);
      if (Object.keys(patch).length === 0) throw invalidRequest("Name at least one field to change.");
      return async (callers) =>
        toOutput(await callers.change(id, patch, { by }), (caller) => printCallers([caller]));
    }
    case "rotate": {
      const id = readId(values);
      const overlapSeconds = readNumber(values, "overlap-seconds");
      return async (callers) =>
        toOutput(await callers.rotate(id, { by, overlapSeconds, prefix }), printRotated);
    }
    case "revoke": {
      const id = readId(values);
      return async (callers) =>
        toOutput(await callers.revoke(id, { by }), (caller) => printCallers([caller]));
    }
    case "request": {
      const id = readString(values, "id");
      if (id === undefined) throw invalidRequest("Name the id of the request: calotype-key request req_….");
      return async (_callers, opened) => toOutput(await findRequest(id, opened), printRequest);
    }
  }
}

/** @throws LedgerError if the ledger does not know the request */
async function findRequest(
  id: string,
  { usage, refusals }: Pick<OpenedCallerStore, "usage" | "refusals">,
): Promise<FoundRequest> {
  const record = await usage.history?.find(id);
  if (record !== undefined) return record;
  const refusal = await refusals?.find(id);
  if (refusal !== undefined) return { state: "refused", ...refusal };
  throw new LedgerError(
    "The ledger has no request with this id. It may still be in progress, it may have been refused long ago, or the gateway has another ledger.",
  );
}

function readString(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

function readId(values: Values): string {
  const id = readString(values, "id");
  if (id === undefined) throw invalidRequest("--id is missing: the id of the caller.", "id");
  return id;
}

const TOTALS_KEYS = ["caller", "model", "channel", "day", "period", "endUser"] as const;

function readTotalsKey(by: string): TotalsKey {
  const key = TOTALS_KEYS.find((known) => known === by);
  if (key !== undefined) return key;
  const tag = readTagKey(by);
  if (tag !== undefined) return `tag:${tag}`;
  throw invalidRequest(`--by must be ${TOTALS_KEYS.join(", ")}, or tag: and the name of a tag.`, "by");
}

const UNITS = ["day", "week", "month"] as const;

/** Sums by the days, weeks or months of a time zone. Those without requests are left out, as in totals. */
function readUnits(
  values: Values,
  host: TimeHost,
): {
  readonly unit: (typeof UNITS)[number];
  readonly sum: (usage: OpenedCallerStore["usage"]) => Promise<readonly UsageTotal[]>;
} {
  const [from, to] = [readTime(values, "from", host), readTime(values, "to", host)];
  const unit = UNITS.find((known) => known === values["by"]);
  const timeZone = readString(values, "time-zone");
  if (
    unit === undefined ||
    from === undefined ||
    to === undefined ||
    timeZone === undefined ||
    !isTimeZone(timeZone)
  ) {
    throw invalidRequest(
      "--time-zone must be a time zone such as Europe/London, with --by day, week or month, --from and --to.",
      "time-zone",
    );
  }
  const query = { from, to, bucket: unit, timeZone, caller: readString(values, "id") };
  const sum = async ({ history }: OpenedCallerStore["usage"]): Promise<readonly UsageTotal[]> => {
    if (history === undefined) {
      throw new LedgerError(
        "The installed ledger keeps no hourly totals: update all packages of calotype to one version.",
      );
    }
    const { buckets, total } = await history.series(query).catch((error: unknown) => {
      throw error instanceof RangeError ? invalidRequest(error.message) : error;
    });
    return buckets.flatMap((bucket, at) => {
      const { requests = 0, images = 0, charge = "0", unresolved = 0 } = total.points[at] ?? {};
      const { key } = findPeriod({ unit, timeZone }, Date.parse(bucket.from));
      const date = key.slice(0, "2026-01-31".length);
      return requests === 0 ? [] : [{ key: date, requests, images, charge, unresolved }];
    });
  };
  return { unit, sum };
}

type TimeHost = Pick<CallerCommandHost, "now" | "complain">;

/** Reads a time. One that depends on the present, or on a time zone, is said on stderr. */
function readTime(
  values: Values,
  name: string,
  { now, complain }: TimeHost,
  direction: 1 | -1 = -1,
): string | undefined {
  const written = readString(values, name);
  if (written === undefined) return undefined;
  const zone = readString(values, "time-zone") ?? "UTC";
  const timeZone = isTimeZone(zone) ? zone : "UTC";
  const time = parseTime(written, name, { now: now(), timeZone, direction });
  if (time !== written) complain(`--${name} ${written} is ${time} (days of ${timeZone}).\n`);
  return time;
}

function readNumber(values: Values, name: string): number | undefined {
  const written = readString(values, name);
  if (written === undefined) return undefined;
  if (/^\d{1,15}$/.test(written)) return Number(written);
  throw invalidRequest(`--${name} must be a whole number.`, name);
}

/** The fields of a caller that were given. Their values are checked later, together with those of the library. */
function readFields(values: Values, host: TimeHost): Omit<Caller, "id"> {
  const models = readString(values, "models");
  const budget = readString(values, "budget");
  const limits = {
    requestsPerMinute: readLimit(values, "requests-per-minute"),
    imagesPerMinute: readLimit(values, "images-per-minute"),
    concurrent: readLimit(values, "concurrent"),
    waitSeconds: readLimit(values, "wait-seconds"),
  };
  const fields = {
    group: readString(values, "group"),
    models: models?.split(",").map((name) => name.trim()),
    client: readString(values, "client"),
    responseFormat: readString(values, "response-format"),
    streamFormat: readString(values, "stream-format"),
    sizes: readString(values, "sizes"),
    expiresAt: readTime(values, "expires-at", host, 1),
    budget: budget === undefined ? undefined : parseBudget(budget),
    limits: Object.values(limits).every((limit) => limit === undefined) ? undefined : limits,
  };
  // Any string may be given for `client` and others, and is refused by the check of the library.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readLimit(values: Values, name: string): number | null | undefined {
  return values[name] === "none" ? null : readNumber(values, name);
}

function readPatch(values: Values, host: TimeHost): CallerPatch {
  const { limits, ...fields } = readFields(values, host);
  const unset = values["unset"];
  const names = Array.isArray(unset) ? unset.map(String) : [];
  const limitNames = names.flatMap((name) => (name.startsWith(LIMITS) ? [name.slice(LIMITS.length)] : []));
  const limitChanges = {
    ...limits,
    ...Object.fromEntries(limitNames.map((name) => [name, "unset" as const])),
  };
  return {
    ...fields,
    ...(Object.keys(limitChanges).length > 0 && { limits: limitChanges }),
    ...Object.fromEntries(names.filter((name) => !name.startsWith(LIMITS)).map((name) => [name, null])),
  };
}

const LIMITS = "limits.";
