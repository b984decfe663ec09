import type {
  AdmissionDecision,
  AdmissionRequest,
  ChannelPause,
  Cooldown,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
} from "@calotype/core/stores";
import { toSafeString } from "./keys.js";

type Admitted = Extract<AdmissionDecision, { kind: "admitted" }>;

/** The value of an idempotency key, as JSON. The words are those of version 0.1. */
type KeyValue =
  | readonly ["running", fingerprint: string, id: string]
  | readonly ["answered", fingerprint: string, response: StoredResponse]
  | readonly ["marked", fingerprint: string];

/** Returns the value while the request runs. The request owns the key as long as the key has exactly this value. */
export function toRunningValue({ fingerprint }: IdempotencyRequest, id: string): string {
  return toValue(["running", fingerprint, id]);
}

/** Returns the value after the request; empty if nothing is stored. A response above `maxBytes` is not stored. */
export function toFinishedValue(
  { fingerprint }: IdempotencyRequest,
  outcome: IdempotencyOutcome,
  maxBytes: number,
): string {
  if (outcome.kind === "forget") return "";
  const marked = toValue(["marked", fingerprint]);
  if (outcome.kind === "mark") return marked;
  const answered = toValue(["answered", fingerprint, outcome.response]);
  return Buffer.byteLength(answered) > maxBytes ? marked : answered;
}

/**
 * Returns the decision for a request whose idempotency key has a value.
 *
 * @throws Error for a value of another format
 */
export function toRepeatDecision(value: string, request: IdempotencyRequest): AdmissionDecision {
  const found = parseValue(value);
  if (found[1] !== request.fingerprint) return { kind: "conflict" };
  switch (found[0]) {
    case "running":
      return { kind: "running" };
    case "answered":
      return { kind: "replay", response: found[2] };
    case "marked":
      return { kind: "not_replayable" };
  }
}

const STATES: ReadonlySet<unknown> = new Set(["running", "answered", "marked"] satisfies KeyValue[0][]);

function parseValue(json: string): KeyValue {
  const value: KeyValue = JSON.parse(json);
  const isKnown = Array.isArray(value) && STATES.has(value[0]) && typeof value[1] === "string";
  if (isKnown && (value[0] !== "answered" || typeof value[2]?.body === "string")) return value;
  throw new Error("An idempotency key must be running, answered or marked.");
}

function toValue(value: KeyValue): string {
  return JSON.stringify(value);
}

/** The fields and values of the hash of cooldowns and pauses, as Redis returns them: a field, its value, the next field. */
export type StateList = readonly string[];

/** The field of a pause begins with the id of the channel. No health id ends like this. */
export function toPauseField(channel: string): string {
  return toSafeString(`${channel}@paused`);
}

export function toCooldownValue({ until, reason }: Cooldown): string {
  return `${until} ${JSON.stringify(reason)}`;
}

/** A pause has the form of a cooldown whose reason is JSON, as in the versions in which it was one. */
export function toPauseValue({ since, until, by, note }: ChannelPause): string {
  const reason = JSON.stringify({ paused: { since: Date.parse(since), by, note } });
  return toCooldownValue({ until: until === undefined ? WITHOUT_END : Date.parse(until), reason });
}

/** 9999-12-31T23:59:59.999Z */
const WITHOUT_END = 253_402_300_799_999;

/** What the hash says about the channels of a request, without what is over. */
export function findState(
  list: StateList,
  { channels, pausesOf = [] }: Pick<AdmissionRequest, "channels" | "pausesOf">,
  now: number,
): Pick<Admitted, "cooldowns" | "pauses"> {
  if (list.length === 0) return { cooldowns: {} };
  const values = new Map<string, string>();
  for (let index = 0; index < list.length; index += 2) values.set(list[index] ?? "", list[index + 1] ?? "");
  const find = (field: string): Cooldown | undefined => {
    const value = values.get(field);
    const cooldown = value === undefined ? undefined : parseCooldown(value);
    return cooldown !== undefined && cooldown.until > now ? cooldown : undefined;
  };
  const paused = pick(pausesOf, (id) => {
    const found = find(toPauseField(id));
    return found && toPause(found);
  });
  return {
    cooldowns: Object.fromEntries(pick(channels, (id) => find(toSafeString(id)))),
    ...(paused.length > 0 && { pauses: Object.fromEntries(paused) }),
  };
}

/** Returns entries for `Object.fromEntries`, because an assignment to `__proto__` would not add a field. */
function pick<Value>(
  ids: readonly string[],
  find: (id: string) => Value | undefined,
): readonly [string, Value][] {
  return ids.flatMap((id): [string, Value][] => {
    const value = find(id);
    return value === undefined ? [] : [[id, value]];
  });
}

/** Details that cannot be read are left out, and the pause still holds. */
function toPause({ until, reason }: Cooldown): ChannelPause {
  const { since, by, note } = parseDetails(reason);
  const isTime = typeof since === "number" && Math.abs(since) <= MAX_TIME;
  return {
    since: new Date(isTime ? since : 0).toISOString(),
    ...(until < WITHOUT_END && { until: new Date(until).toISOString() }),
    by: typeof by === "string" ? by : "",
    ...(typeof note === "string" && { note }),
  };
}

/** The largest time of a Date. */
const MAX_TIME = 8.64e15;

function parseDetails(reason: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(reason)?.paused ?? {};
  } catch {
    // Written by another program.
    return {};
  }
}

function parseCooldown(value: string): Cooldown {
  const space = value.indexOf(" ");
  return { until: Number(value.slice(0, space)), reason: JSON.parse(value.slice(space + 1)) };
}
