import type { Random } from "./create-random.ts";
import { drawLatencyMs } from "./create-random.ts";

/** A time in which a channel is not well, in milliseconds from the start. */
export interface Trouble {
  readonly fromMs: number;
  readonly toMs: number;
  /** So many of its calls fail; 1: all. */
  readonly failingShare: number;
  /** With 503 nothing was made, and the gateway may send again; with 500 it may not. */
  readonly status: 500 | 503;
  /** The other calls take so many times as long. Default 1. */
  readonly slowness?: number;
}

/** What an account at a provider can do. */
export interface SimulatedChannel {
  readonly id: string;
  readonly medianLatencyMs: number;
  /** Past it calls get a 429. Default: no limit. */
  readonly imagesPerMinute?: number;
  readonly trouble?: Trouble;
}

/** What several channels have in common: so much work a second, of which a refusal is a part. */
export interface SharedBackend {
  /** Images that can be made in a second. */
  readonly perSecond: number;
  /** In {@link weakFromMs} to {@link weakToMs}, in milliseconds from the start. */
  readonly weakPerSecond: number;
  readonly weakFromMs: number;
  readonly weakToMs: number;
  /** To refuse a call is so much of the work of an image. */
  readonly refusalCost: number;
}

/** What a provider does with a call. */
export interface Verdict {
  readonly status: 200 | 429 | 500 | 503;
  readonly afterMs: number;
}

/** A refusal comes at once. */
const REFUSAL_MS = 50;

/** Decides what a channel does with its calls, in the order in which they come. */
export function createJudge(
  { medianLatencyMs, imagesPerMinute, trouble }: SimulatedChannel,
  random: Random,
  takeWork: (ms: number) => boolean,
): (ms: number, images: number) => Verdict {
  let windowEndMs = 0;
  let counted = 0;
  const takeImages = (ms: number, images: number): boolean => {
    if (imagesPerMinute === undefined) return true;
    if (ms >= windowEndMs) {
      windowEndMs = ms + 60_000;
      counted = 0;
    }
    if (counted + images > imagesPerMinute) return false;
    counted += images;
    return true;
  };
  return (ms, images) => {
    const current = trouble && ms >= trouble.fromMs && ms < trouble.toMs ? trouble : undefined;
    // Drawn whatever happens, so that one call more or less changes no other.
    const [isUnlucky, latencyMs] = [
      random() < (current?.failingShare ?? 0),
      drawLatencyMs(random, medianLatencyMs),
    ];
    if (current !== undefined && isUnlucky) return { status: current.status, afterMs: REFUSAL_MS };
    if (!takeWork(ms)) return { status: 503, afterMs: REFUSAL_MS };
    if (!takeImages(ms, images)) return { status: 429, afterMs: REFUSAL_MS };
    return { status: 200, afterMs: latencyMs * (current?.slowness ?? 1) };
  };
}

/** The work of a backend: what is left of it fills up with time, and refusals, too, use it up. */
export function createWork(backend: SharedBackend | undefined): (ms: number) => boolean {
  if (backend === undefined) return () => true;
  let left = backend.perSecond;
  let lastMs = 0;
  return (ms) => {
    const isWeak = ms >= backend.weakFromMs && ms < backend.weakToMs;
    const rate = isWeak ? backend.weakPerSecond : backend.perSecond;
    left = Math.min(rate, left + ((ms - lastMs) / 1000) * rate);
    lastMs = ms;
    const isTaken = left >= 1;
    left = Math.max(-backend.perSecond, left - (isTaken ? 1 : backend.refusalCost));
    return isTaken;
  };
}
