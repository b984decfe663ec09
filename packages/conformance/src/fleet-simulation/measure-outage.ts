import type { Fleet } from "./create-fleet.ts";

/** Requests that came in one span of time, and what became of them. */
export interface Span {
  /** Milliseconds from the start. */
  readonly fromMs: number;
  readonly requests: number;
  readonly succeeded: number;
  /** Calls to providers for each request. */
  readonly attemptsPerRequest: number;
}

/** What became of the requests of a span of time. */
export function measureSpan(fleet: Fleet, fromMs: number, toMs: number): Span {
  const answers = fleet.answers.filter(({ beganMs }) => beganMs >= fromMs && beganMs < toMs);
  const prompts = new Set(answers.map(({ request }) => request.prompt));
  return {
    fromMs,
    requests: answers.length,
    succeeded: answers.filter(({ status }) => status === 200).length,
    attemptsPerRequest: fleet.calls.filter(({ prompt }) => prompts.has(prompt)).length / answers.length,
  };
}

/** The same for spans of one length, one after another. */
export function measureSpans(fleet: Fleet, toMs: number, spanMs: number): Span[] {
  return Array.from({ length: Math.floor(toMs / spanMs) }, (_, index) =>
    measureSpan(fleet, index * spanMs, (index + 1) * spanMs),
  );
}

const GOOD_SHARE = 0.99;
const STEP_MS = 1_000;

/** From the end of the trouble until all but one in a hundred of those that came in a second succeeded, for good; NaN: never. */
export function measureRecoveryMs({ answers }: Fleet, troubleToMs: number, runMs: number): number {
  const steps = Array.from({ length: (runMs - troubleToMs) / STEP_MS }, () => ({
    requests: 0,
    succeeded: 0,
  }));
  for (const { beganMs, status } of answers) {
    const step = steps[Math.floor((beganMs - troubleToMs) / STEP_MS)];
    if (step === undefined) continue;
    step.requests++;
    if (status === 200) step.succeeded++;
  }
  const lastBad = steps.findLastIndex(({ requests, succeeded }) => succeeded < GOOD_SHARE * requests);
  return lastBad === steps.length - 1 ? Number.NaN : (lastBad + 1) * STEP_MS;
}
