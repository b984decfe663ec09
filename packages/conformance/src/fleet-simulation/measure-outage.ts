import type { SimulatedFleet } from "./create-fleet.ts";

/** The results of the requests that arrived in a period. */
export interface Span {
  /** The beginning of the period, in milliseconds from the start. */
  readonly fromMs: number;
  readonly requests: number;
  readonly succeeded: number;
  /** Attempts per request. */
  readonly attemptsPerRequest: number;
}

/** Computes the results of the requests that arrived in a period. */
export function measureSpan(fleet: SimulatedFleet, fromMs: number, toMs: number): Span {
  const responses = fleet.responses.filter(({ beganMs }) => beganMs >= fromMs && beganMs < toMs);
  const prompts = new Set(responses.map(({ request }) => request.prompt));
  return {
    fromMs,
    requests: responses.length,
    succeeded: responses.filter(({ status }) => status === 200).length,
    attemptsPerRequest: fleet.calls.filter(({ prompt }) => prompts.has(prompt)).length / responses.length,
  };
}

/** Computes the results of consecutive periods of the same length. */
export function measureSpans(fleet: SimulatedFleet, toMs: number, spanMs: number): Span[] {
  return Array.from({ length: Math.floor(toMs / spanMs) }, (_, index) =>
    measureSpan(fleet, index * spanMs, (index + 1) * spanMs),
  );
}

const GOOD_SHARE = 0.99;
const STEP_MS = 1_000;

/**
 * The time from the end of the outage until at least 99 % of the requests of each second succeed. NaN: never.
 */
export function measureRecoveryMs({ responses }: SimulatedFleet, troubleToMs: number, runMs: number): number {
  const steps = Array.from({ length: (runMs - troubleToMs) / STEP_MS }, () => ({
    requests: 0,
    succeeded: 0,
  }));
  for (const { beganMs, status } of responses) {
    const step = steps[Math.floor((beganMs - troubleToMs) / STEP_MS)];
    if (step === undefined) continue;
    step.requests++;
    if (status === 200) step.succeeded++;
  }
  const lastBad = steps.findLastIndex(({ requests, succeeded }) => succeeded < GOOD_SHARE * requests);
  return lastBad === steps.length - 1 ? Number.NaN : (lastBad + 1) * STEP_MS;
}
