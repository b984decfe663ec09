import type {
  AdmissionDecision,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
} from "@calotype/core";

/** What stands under the key of a claim, as JSON: its state, its fingerprint, and who holds it or what was answered. */
type ClaimText =
  | readonly ["running", fingerprint: string, id: string]
  | readonly ["answered", fingerprint: string, answer: StoredResponse]
  | readonly ["marked", fingerprint: string];

/** The same text at each call: who has it, holds the claim. */
export function toRunningText({ fingerprint }: IdempotencyRequest, id: string): string {
  return toText(["running", fingerprint, id]);
}

/** What a repeat finds; empty where nothing is to be found. Of an answer past `maxBytes` only a mark is kept. */
export function toEndedText(
  { fingerprint }: IdempotencyRequest,
  outcome: IdempotencyOutcome,
  maxBytes: number,
): string {
  if (outcome.kind === "forget") return "";
  const marked = toText(["marked", fingerprint]);
  if (outcome.kind === "mark") return marked;
  const answered = toText(["answered", fingerprint, outcome.response]);
  return Buffer.byteLength(answered) > maxBytes ? marked : answered;
}

/**
 * What a request gets that finds this text under its key.
 *
 * @throws Error for a text that is none of these
 */
export function toRepeat(text: string, claim: IdempotencyRequest): AdmissionDecision {
  const found = parseClaim(text);
  if (found[1] !== claim.fingerprint) return { kind: "conflict" };
  switch (found[0]) {
    case "running":
      return { kind: "running" };
    case "answered":
      return { kind: "replay", response: found[2] };
    case "marked":
      return { kind: "not_replayable" };
  }
}

const STATES: ReadonlySet<unknown> = new Set(["running", "answered", "marked"] satisfies ClaimText[0][]);

function parseClaim(text: string): ClaimText {
  const claim: ClaimText = JSON.parse(text);
  const isWhole = Array.isArray(claim) && STATES.has(claim[0]) && typeof claim[1] === "string";
  if (isWhole && (claim[0] !== "answered" || typeof claim[2]?.body === "string")) return claim;
  throw new Error("A claim is running, answered or marked.");
}

function toText(text: ClaimText): string {
  return JSON.stringify(text);
}
