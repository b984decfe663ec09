import type { AdmissionDecision, AdmissionRequest, WindowState } from "@calotype/core";
import type { CooldownList } from "./cooldown-list.js";

/** What the script found, see `scripts/admit.ts`. */
export type AdmitReply =
  | { readonly kind: "claimed"; readonly text: string }
  | {
      readonly kind: "admitted";
      /** Milliseconds since 1970, by the clock of Redis. */
      readonly now: number;
      readonly cooldowns: CooldownList;
      readonly windows: readonly WindowState[];
    }
  | Extract<AdmissionDecision, { kind: "limited" | "crowded" }>;

type Limits = Pick<AdmissionRequest, "windows" | "concurrency">;

/** @throws Error for a reply of another script */
export function readAdmitReply(reply: readonly unknown[], limits: Limits): AdmitReply {
  const { windows, concurrency } = limits;
  const [kind, index, cooldowns] = [toText(reply[0]), reply[1], reply[2]];
  if (kind === "claimed") return { kind, text: toText(reply[1]) };
  if (kind === "admitted" && Array.isArray(cooldowns)) {
    return {
      kind,
      now: Number(index),
      cooldowns: cooldowns.map(toText),
      windows: toStates(reply, 3, windows),
    };
  }
  const states = toStates(reply, 2, windows);
  const window = windows[Number(index) - 1];
  if (kind === "limited" && window !== undefined) return { kind, limit: window, windows: states };
  const place = concurrency[Number(index) - 1];
  if (kind === "crowded" && place !== undefined) return { kind, limit: place, windows: states };
  throw new Error(`Redis answered the script with "${kind}", which it does not say.`);
}

/** Counts and rests in turn, from this place on. */
function toStates(reply: readonly unknown[], from: number, windows: Limits["windows"]): WindowState[] {
  return windows.map(({ limit }, index) => {
    const [count, resetMs] = [Number(reply[from + 2 * index]), Number(reply[from + 2 * index + 1])];
    if (Number.isNaN(count) || Number.isNaN(resetMs))
      throw new Error("Redis answered the script with too little.");
    // A limit that the operator lowered can be below what was counted.
    return { remaining: Math.max(0, limit - count), resetMs };
  });
}

/** A client may be set to give texts as bytes. */
function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  throw new Error(`Redis answered the script with ${typeof value} where a text was expected.`);
}
