import { drawLatencyMs, type Random } from "./create-random.ts";

/** A period in which a channel fails, in milliseconds from the start. */
export interface Trouble {
  readonly fromMs: number;
  readonly toMs: number;
  /** The share of failing calls; 1: all. */
  readonly failingShare: number;
  /** After a 503 the gateway may send the request again, after a 500 it may not. */
  readonly status: 500 | 503;
  /** The factor for the duration of the other calls. Default 1. */
  readonly slowness?: number;
}

/** An account at a provider. */
export interface SimulatedChannel {
  readonly id: string;
  readonly medianLatencyMs: number;
  /** Images per minute; further calls get a 429. Default: no limit. */
  readonly imagesPerMinute?: number;
  readonly trouble?: Trouble;
}

/** The shared capacity of several channels. Refusals use a part of it. */
export interface SharedBackend {
  /** Images per second. */
  readonly perSecond: number;
  /** Images per second from {@link weakFromMs} to {@link weakToMs}, in milliseconds from the start. */
  readonly weakPerSecond: number;
  readonly weakFromMs: number;
  readonly weakToMs: number;
  /** The work of a refusal, as a share of the work for an image. */
  readonly refusalCost: number;
}

/** What a provider does with a call. */
export interface Verdict {
  readonly status: 200 | 429 | 500 | 503;
  readonly afterMs: number;
}

/** A refusal comes at once. */
const REFUSAL_MS = 50;

/** Decides what a channel does with its calls, in the order of their arrival. */
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
    // Always drawn, so that one call more or less does not change the others.
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

/** The free capacity of a backend. It grows with time; calls and refusals use it. */
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
