import { countPixels } from "../images/size.js";
import type {
  AttemptRecord,
  DecimalInput,
  ImageMark,
  MadeImage,
  Operation,
  PeriodicBudget,
  Usage,
} from "../types.js";
import { compareStrings } from "../util/compare-strings.js";
import type { Writable } from "../util/writable.js";
import type { BudgetPeriod } from "./budget.js";
import type { Charge, ChargeDerivation, Price, RequestBounds } from "./charge.js";
import type { CostLine, Outcome, RecordedCosts, SentTo } from "./outcome.js";
import { chargeOutcome, type PriceBasis, toPriceBasis } from "./price-basis.js";
import { copyUsage, cutUsage, keepCounts, keepMade } from "./usage.js";

/**
 * Money that is set aside before a request is sent, with what is known about the request at that time. `id`,
 * `caller`, `group` and `model` have at most 512 bytes of UTF-8 each.
 */
export interface HoldRecord {
  /** The id of the request and of its usage record. Each request has its own id. */
  readonly id: string;
  /** When the request arrived, by the clock of the gateway: ISO 8601 in UTC. */
  readonly time: string;
  readonly caller: string;
  readonly group: string;
  readonly model: string;
  readonly operation: Operation;
  /** The worst case, a decimal string; `null` without `billing`. */
  readonly amount: string | null;
  /** The caller's budget, a decimal string: the total that it may ever spend, or in one period. Absent: no limit. */
  readonly budget?: string | undefined;
  /** The period of the budget. Absent: the budget is for all time. */
  readonly period?: BudgetPeriod | undefined;
  /** The id of the task that the request is. The hold then ends with the task, see `TaskStore`. Absent: no task. */
  readonly task?: string | undefined;
  /** The end user and the tags of the request. */
  readonly endUser?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /**
   * The duration of the hold in milliseconds, by the clock of the ledger: from 0 to ten years. A hold that is still
   * open after this time is lost, see {@link MinimalLedger.sweep}.
   */
  readonly ttlMs: number;
  /**
   * The end of the hold in milliseconds since 1970, by the clock of the gateway, which may be wrong.
   *
   * @deprecated Add `ttlMs` to the time of your store. The gateway sends `expiresAt` until 1.0 for older ledgers.
   */
  readonly expiresAt?: number | undefined;
}

/** What is charged for a request whose outcome will never be known: nothing, or its hold. */
export type LostPolicy = "release" | "charge";

/** The fields of every record. */
interface RequestFacts {
  /** The request's id, which the client got in `x-request-id`. A record that is delivered twice has the same id. */
  readonly id: string;
  /** When the request arrived, ISO 8601 in UTC. */
  readonly time: string;
  /** The caller's id. */
  readonly caller: string;
  /** The caller's price group at that time. */
  readonly group: string;
  /** The service model. */
  readonly model: string;
  /** Whether the images were generated, are edits, or were requested on a native endpoint. */
  readonly operation: Operation;
  /** The id of the task that the request was. Absent: the client waited for its response. */
  readonly task?: string;
  /**
   * The key of the budget period in which the hold was made, such as `2026-02-01 month Asia/Tokyo`. The ledger adds it.
   * Absent: the caller had no budget with a period.
   */
  readonly period?: string;
  /** The end user that the client named in `safety_identifier`, else in `user`: at most 128 characters. */
  readonly endUser?: string;
  /** The tags that the client sent in `x-calotype-tags`, at most 8. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The number of images in the response to the client. */
  readonly images: number;
  /** A decimal string; `null` if the gateway has no `billing`. */
  readonly charge: string | null;
}

/** A request that reached a provider, and what it cost. */
export interface SettledRecord extends RequestFacts, RecordedCosts {
  /** The request was settled: its charge replaced its hold. */
  readonly state: "settled";
  /**
   * The key that the client sent, by its beginning and its end: `hint` of the keys that `gateway.callers` lists. Absent for callers
   * that are not created at run time, and in records of older versions.
   */
  readonly keyHint?: string;
  /** The id of the channel whose response or failure the client got. */
  readonly channel: string;
  /** That channel's name of the model. */
  readonly upstreamModel: string;
  /**
   * All attempts in order, at most the last 100. Absent in records of version 0.1. If the response failed after its
   * head, the last attempt has the failure as its `code`.
   */
  readonly attempts?: readonly AttemptRecord[];
  /** The amount that was held. Absent in records of older versions, and without `billing`. */
  readonly held?: string;
  /** The HTTP status of the response to the client. */
  readonly status: number;
  /** The `error.code` that the client got, if the request failed. */
  readonly errorCode?: string;
  /**
   * What the provider reported; absent if it reported nothing. Charges and totals are computed from it. If the request
   * took several upstream calls, the sum of their reports; a call that reported no number of images counts one if an
   * image came.
   */
  readonly usage?: Usage;
  /**
   * Present only if the provider reported more than the request could make: the report before `usage` was cut to that
   * maximum. The maximum is the larger of the images that the request allows (`n`, `max_images`, layers) and the images
   * in the response, and one token for each 256 pixels of each such image. Compare it with the provider's bill.
   */
  readonly reportedUsage?: Usage;
  /**
   * Present only if the price depends on the size, and the response has an image with more pixels than the request
   * could make: the pixels of its largest image. The charge is for the most pixels that the request could make.
   */
  readonly reportedPixels?: number;
  /** How the charge was computed. Absent if nothing was made and nothing reported, or without `billing`. */
  readonly derivation?: ChargeDerivation;
  /**
   * What prices depend on besides `usage` and `images`, so that `repriceRecords` can compute other prices. Absent if nothing
   * was made and nothing reported, if the images differ in more ways than a record keeps, and in records of older versions.
   */
  readonly priceBasis?: PriceBasis;
  /**
   * True if tokens have a price and some tokens are unknown: the provider reported none, or a stream broke off and
   * the size of one of its images is unknown. The charge does not include the unknown tokens; it may be 0 and should
   * be checked.
   */
  readonly unpriced?: boolean;
  /**
   * True if a sweep had ended the hold of the request before the request was charged, because its process was paused or could
   * not reach the ledger. The money of the hold was free meanwhile, so the total of the caller can be above its budget by at
   * most this charge. Set by the ledger.
   */
  readonly late?: boolean;
  /**
   * Whether each image was marked as made by AI, and if not, why: an entry for each image, also for those that were withheld, in the
   * order in which they arrived. Absent without the option `marks`, and if there was no image.
   */
  readonly marks?: readonly ImageMark[];
  /**
   * The ids of the images that `results` has stored, in the order in which they were stored, at most the first 100. They are there
   * until the store deletes them: `openImage` of the gateway reads them. Absent without the option `results`, and if none was stored.
   */
  readonly stored?: readonly string[];
  /** From the request's arrival to the end of the upstream response. */
  readonly durationMs: number;
  /** How much of it the request waited for its limits (`waitSeconds`). Absent: it did not wait. */
  readonly waitedMs?: number;
  /** The provider's id of the request, if it gave one. */
  readonly upstreamRequestId?: string;
  /**
   * The provider's ids of all upstream calls, in the order of the calls. Only if the request took several calls. A call
   * without an id is left out.
   */
  readonly upstreamRequestIds?: readonly string[];
}

/**
 * A request whose outcome is not known: its process died, or was closed, before the upstream response ended. It may have
 * been sent, and an image may have been made.
 */
export interface UnresolvedRecord extends RequestFacts {
  /** The outcome of the request is not known. */
  readonly state: "unresolved";
  /** The amount that was held for the request. It is charged if `billing.onLost` is `"charge"`. */
  readonly held: string | null;
  readonly images: 0;
}

/**
 * A request that was unresolved until its process reported that it reached no provider. The process had been paused,
 * or had lost its connection to the database. This record replaces the unresolved record of the same id and costs
 * nothing.
 */
export interface ReleasedRecord extends RequestFacts {
  /** The request was unresolved, and turned out to have reached no provider. */
  readonly state: "released";
  /** The amount that was held for the request. */
  readonly held: string | null;
  readonly images: 0;
}

/** The usage record of one request. Plain data, ready for `JSON.stringify`. */
export type UsageRecord = SettledRecord | UnresolvedRecord | ReleasedRecord;

/** Limits the size of a record, even if a model has very many channels and keys. */
const MAX_ATTEMPTS = 100;

/** Limits the size of a record, even if a provider sends very many images. */
const MAX_STORED = 100;

/** What is known of a request before it is sent, and what its record will say of its images. */
export interface BilledRequest {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The same as ISO 8601 in UTC. */
  readonly time: string;
  readonly caller: string;
  /** The beginning and the end of the caller's key, if the caller is created at run time. */
  readonly keyHint?: string | undefined;
  /** The caller's budget. Absent: no limit. */
  readonly budget?: DecimalInput | PeriodicBudget | undefined;
  readonly group: string;
  readonly model: string;
  readonly operation: Operation;
  /** The id of the task that the request is. */
  readonly task?: string | undefined;
  readonly endUser?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** The most that the request can make. The hold is computed from it, and a provider's report is cut to it. */
  readonly bounds: RequestBounds;
  /** `undefined` without `billing`. */
  readonly price: Price | undefined;
  /** Set before the hold, if the request waited for its limits. */
  waitedMs?: number | undefined;
  /** The ids of the images that were stored so far. */
  stored?: string[] | undefined;
  /** Learns of the hold and its end. Set before the hold. `undefined` without telemetry. */
  observer?: HoldObserver | undefined;
}

/** Learns of the hold of a request. It does not throw. */
interface HoldObserver {
  /** @param amount the highest possible charge, a decimal string; `null` without `billing` */
  held(amount: string | null): void;
  holdEnded(end: HoldEndReport): void;
}

/** How the hold of a request ended. `record` is set if it was settled. */
export interface HoldEndReport {
  readonly state: UsageRecord["state"];
  readonly record?: SettledRecord | undefined;
}

/** An outcome, and what {@link toSettledRecord} needs besides it. */
export interface SettledOutcome extends Outcome {
  /** True if the whole hold is charged. Default false. */
  readonly chargesHold?: boolean | undefined;
  /** The amount of the hold, if it is known. */
  readonly held?: string | undefined;
  /** Milliseconds since 1970. */
  readonly endedAt: number;
}

/**
 * The usage record of one request, with its charge. If no image came, only what the provider
 * reported is charged. A report of more than the request could make is cut; the record then has `reportedUsage`.
 */
export function toSettledRecord(
  request: BilledRequest,
  sentTo: SentTo,
  outcome: SettledOutcome,
): SettledRecord {
  const reported = keepCounts(outcome.usage);
  const usage = reported && cutUsage(reported, request.bounds, outcome.images);
  const reportedUsage = outcome.reportedUsage ?? (usage === reported ? undefined : reported);
  const made = keepMade(outcome.made);
  const { images, callsWithImages, chargesHold } = outcome;
  const charged = { usage, images, made, request: request.bounds, callsWithImages, chargesHold };
  const charge = chargeOutcome(request.price, charged);
  const priceBasis = toPriceBasis(charged);
  const record: Writable<SettledRecord> = {
    state: "settled",
    ...copyFacts(request),
    upstreamModel: sentTo.upstreamModel,
    channel: sentTo.channel,
    attempts: sentTo.attempts.slice(-MAX_ATTEMPTS).map((attempt) => ({ ...attempt })),
    status: outcome.status,
    images,
    charge: request.price === undefined ? null : (charge?.amount ?? "0"),
    // A clock may be set back.
    durationMs: Math.max(0, outcome.endedAt - request.receivedAt),
  };
  if (request.price !== undefined)
    record.held = outcome.held ?? request.price.estimate(request.bounds).amount;
  if (request.keyHint !== undefined) record.keyHint = request.keyHint;
  if (request.waitedMs !== undefined) record.waitedMs = request.waitedMs;
  if (outcome.errorCode !== undefined) record.errorCode = outcome.errorCode;
  if (usage !== undefined) record.usage = usage;
  if (reportedUsage !== undefined) record.reportedUsage = reportedUsage;
  const reportedPixels = charge && findCutPixels(charge, request.bounds, made);
  if (reportedPixels !== undefined) record.reportedPixels = reportedPixels;
  if (charge !== undefined) record.derivation = charge.derivation;
  if (priceBasis !== undefined) record.priceBasis = priceBasis;
  if (isUnpriced(charge, outcome)) record.unpriced = true;
  if (outcome.upstreamRequestId !== undefined) record.upstreamRequestId = outcome.upstreamRequestId;
  if (outcome.upstreamRequestIds !== undefined) record.upstreamRequestIds = outcome.upstreamRequestIds;
  const { costs, marks } = sentTo;
  const listed = marks?.list(images);
  if (listed !== undefined && listed.length > 0) record.marks = listed;
  if (request.stored !== undefined) record.stored = request.stored.slice(0, MAX_STORED);
  if (costs === undefined) return record;
  const { calls = [{ sentTo, outcome, bounds: request.bounds }] } = outcome;
  return { ...record, ...costs.sum(request.model, calls) };
}

/** Returns the record that a sweep makes of a lost hold. */
export function toUnresolvedRecord(hold: HoldRecord, onLost: LostPolicy): UnresolvedRecord {
  const { amount } = hold;
  const charge = amount === null || onLost === "charge" ? amount : "0";
  return { state: "unresolved", ...copyFacts(hold), images: 0, charge, held: amount };
}

/** What a hold and its record say about the request. */
export function copyFacts(
  request: Pick<
    HoldRecord,
    "id" | "time" | "caller" | "group" | "model" | "operation" | "task" | "endUser" | "tags"
  >,
): Omit<RequestFacts, "period" | "images" | "charge"> {
  const { id, time, caller, group, model, operation, task, endUser, tags } = request;
  const facts: Writable<ReturnType<typeof copyFacts>> = { id, time, caller, group, model, operation };
  if (task !== undefined) facts.task = task;
  if (endUser !== undefined) facts.endUser = endUser;
  if (tags !== undefined) facts.tags = { ...tags };
  return facts;
}

/** Returns the record with the period in which its hold was counted, and no other: a copy, unless it has it already. */
export function withPeriod<R extends UsageRecord>(record: R, period: string | undefined): R {
  if (record.period === period) return record;
  const copy: R & { period?: string } = { ...record };
  if (period === undefined) delete copy.period;
  else copy.period = period;
  return copy;
}

/** Returns the record that a release makes of an unresolved record. */
export function toReleasedRecord(record: UnresolvedRecord): ReleasedRecord {
  return { ...record, state: "released", charge: record.charge === null ? null : "0" };
}

/** Returns a copy that shares nothing with the record, so that a change of one does not change the other. */
export function copyRecord<R extends UsageRecord>(record: R): R {
  const copy: R & NestedFields = { ...record };
  // Written out, because each request does this: `structuredClone` takes ten times as long.
  if (copy.upstreamRequestIds !== undefined) copy.upstreamRequestIds = [...copy.upstreamRequestIds];
  if (copy.tags !== undefined) copy.tags = { ...copy.tags };
  if (copy.marks !== undefined) copy.marks = [...copy.marks];
  if (copy.stored !== undefined) copy.stored = [...copy.stored];
  if (copy.usage !== undefined) copy.usage = copyUsage(copy.usage);
  if (copy.reportedUsage !== undefined) copy.reportedUsage = copyUsage(copy.reportedUsage);
  if (copy.derivation !== undefined) copy.derivation = copyDerivation(copy.derivation);
  if (copy.priceBasis !== undefined) copy.priceBasis = copyPriceBasis(copy.priceBasis);
  if (copy.costLines !== undefined) copy.costLines = copy.costLines.map(copyCostLine);
  if (copy.attempts !== undefined) copy.attempts = copy.attempts.map((attempt) => ({ ...attempt }));
  return copy;
}

interface NestedFields {
  tags?: Readonly<Record<string, string>>;
  usage?: Usage;
  reportedUsage?: Usage;
  derivation?: ChargeDerivation;
  priceBasis?: PriceBasis;
  costLines?: readonly CostLine[];
  attempts?: readonly AttemptRecord[];
  marks?: readonly ImageMark[];
  stored?: readonly string[];
  upstreamRequestIds?: readonly string[];
}

function copyDerivation(derivation: ChargeDerivation): ChargeDerivation {
  if (!("lines" in derivation)) return { ...derivation };
  return { ...derivation, lines: derivation.lines.map((line) => ({ ...line })) };
}

function copyCostLine(line: CostLine): CostLine {
  const { derivation } = line;
  return derivation === undefined ? { ...line } : { ...line, derivation: copyDerivation(derivation) };
}

function copyPriceBasis({ request, made, ...basis }: PriceBasis): PriceBasis {
  return { ...basis, request: { ...request }, made: made.map((images) => ({ ...images })) };
}

/** True if tokens have a price and the tokens of some or all images are unknown. */
function isUnpriced(charge: Charge | undefined, { hasUnknownTokens = false }: Outcome): boolean {
  if (charge?.derivation.pricing_mode !== "per-token") return false;
  return charge.derivation.unpriced === true || hasUnknownTokens;
}

/** The pixels of the largest image, if the charge depends on them and they were cut. */
function findCutPixels(
  { derivation }: Charge,
  { maxPixels }: RequestBounds,
  made: readonly MadeImage[],
): number | undefined {
  if (!("lines" in derivation) || derivation.pricing_mode !== "per-request") return undefined;
  if (maxPixels === undefined) return undefined;
  const largest = made.reduce((most, { size = "" }) => Math.max(most, countPixels(size) ?? 0), 0);
  return largest > maxPixels ? largest : undefined;
}

/** The order of holds and records: by their time, then by their id. */
export function compareAge(one: Aged, other: Aged): number {
  return compareStrings(one.time, other.time) || compareStrings(one.id, other.id);
}

interface Aged {
  readonly time: string;
  readonly id: string;
}
