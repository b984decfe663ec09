import type {
  AdmissionDecision,
  Cooldown,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
} from "@calotype/core/stores";
import { toSafeString } from "./keys.js";

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

/** Alternating health ids and cooldowns, as Redis returns them. */
export type CooldownList = readonly string[];

export function toCooldownValue({ until, reason }: Cooldown): string {
  return `${until} ${JSON.stringify(reason)}`;
}

/** Returns the cooldowns of the given ids that are not over. */
export function findCooldowns(
  list: CooldownList,
  ids: readonly string[],
  now: number,
): Record<string, Cooldown> {
  if (list.length === 0) return {};
  const values = new Map<string, string>();
  for (let index = 0; index < list.length; index += 2) values.set(list[index] ?? "", list[index + 1] ?? "");
  const cooling = ids.flatMap((id): [string, Cooldown][] => {
    const value = values.get(toSafeString(id));
    const cooldown = value === undefined ? undefined : parseCooldown(value);
    return cooldown !== undefined && cooldown.until > now ? [[id, cooldown]] : [];
  });
  // `fromEntries`, because an assignment to `__proto__` would not add a field.
  return Object.fromEntries(cooling);
}

function parseCooldown(value: string): Cooldown {
  const space = value.indexOf(" ");
  return { until: Number(value.slice(0, space)), reason: JSON.parse(value.slice(space + 1)) };
}
