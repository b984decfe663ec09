import { DOWN, GATEWAYS, LIMITED, OUTAGE_MS, runCooldowns } from "./cooldown-scenario.ts";
import { digestRun } from "./digest-run.ts";
import {
  CONCURRENT,
  IMAGES_PER_MINUTE,
  type LimitsRun,
  REQUESTS_PER_MINUTE,
  runLimits,
} from "./limits-scenario.ts";
import { countAtOnce, countWindows, measureBudget, measureKeys, measureLedger } from "./measure-limits.ts";
import { measureRecoveryMs, measureSpan, measureSpans, type Span } from "./measure-outage.ts";
import { OUTAGES, RUN_MS, runOutage, TROUBLE_FROM_MS, TROUBLE_TO_MS } from "./outage-scenario.ts";
import { percent, renderTable } from "./render-table.ts";

/** A table of limits, idempotency keys, budgets, and the ledger after the last sweep, by seed. */
export async function renderLimits(seeds: readonly number[]): Promise<string> {
  const limits: TableRow[] = [];
  const totals: TableRow[] = [];
  for (const seed of seeds) {
    const run = await runLimits(seed);
    limits.push([seed, ...describeLimits(run)]);
    totals.push([seed, ...(await describeLedger(run))]);
  }
  const [seed = 1] = seeds;
  limits.push(["a store each", ...describeLimits(await runLimits(seed, false))]);
  return [
    renderTable("Limits: what five gateways admitted per window, one killed on the way", [
      ["seed", "requests/min", "images/min", "at once", "runs per key", "highest of budget"],
      ["limit", REQUESTS_PER_MINUTE, IMAGES_PER_MINUTE, CONCURRENT, 1, "8.00"],
      ...limits,
    ]),
    renderTable("Ledger after the last sweep", [
      [
        "seed",
        "made",
        "for clients cut off",
        "delivered",
        "charged",
        "price",
        "held",
        "unresolved",
        "digest",
      ],
      ...totals,
    ]),
  ].join("\n");
}

type TableRow = (string | number)[];

function describeLimits(run: LimitsRun): TableRow {
  return [
    countWindows(run, "requests").join(", "),
    countWindows(run, "images").join(", "),
    countAtOnce(run, "at-once"),
    measureKeys(run).mostRuns,
    toDecimal(measureBudget(run, "by-budget").highest),
  ];
}

async function describeLedger(run: LimitsRun): Promise<TableRow> {
  const totals = await measureLedger(run);
  const money = [totals.charged, totals.priceOfImages, totals.held].map(toDecimal);
  const digest = digestRun(run.fleet).slice(0, 12);
  return [totals.made, totals.madeForLost, totals.delivered, ...money, totals.unresolved, digest];
}

const toDecimal = (cents: number): string => (cents / 100).toFixed(2);

/** A table of the effect of the retry budget in each outage. */
export async function renderOutages(seed: number): Promise<string> {
  const rows: TableRow[] = [];
  for (const outage of OUTAGES) {
    for (const hasBudget of [true, false]) {
      const fleet = await runOutage(outage, seed, hasBudget);
      const during = measureSpan(fleet, TROUBLE_FROM_MS, TROUBLE_TO_MS);
      const after = measureSpan(fleet, TROUBLE_TO_MS, RUN_MS);
      const recoveryMs = measureRecoveryMs(fleet, TROUBLE_TO_MS, RUN_MS);
      rows.push([
        outage,
        hasBudget ? "20 %" : "none",
        during.attemptsPerRequest.toFixed(2),
        goodShare(during),
        after.attemptsPerRequest.toFixed(2),
        goodShare(after),
        Number.isNaN(recoveryMs) ? "never" : `${recoveryMs / 1000} s`,
      ]);
    }
  }
  return renderTable(
    "Retry budget: calls per request and goodput, in a minute of outage and in the minute after",
    [["outage", "budget", "calls", "good", "calls after", "good after", "recovered after"], ...rows],
  );
}

const goodShare = ({ succeeded, requests }: Span): string => percent(succeeded / requests);

/** A table of successful requests over time when the provider has too few machines. */
export async function renderGoodput(seed: number): Promise<string> {
  const withBudget = measureSpans(await runOutage("weak backend", seed, true), RUN_MS, SPAN_MS);
  const without = measureSpans(await runOutage("weak backend", seed, false), RUN_MS, SPAN_MS);
  return renderTable("Weak backend over time, weak from 30 s to 90 s", [
    ["second", "requests", "good", "calls per request", "good without budget", "calls without"],
    ...withBudget.map((span, index) => {
      const other = without[index] ?? span;
      return [
        `${span.fromMs / 1000}`,
        span.requests,
        goodShare(span),
        span.attemptsPerRequest.toFixed(2),
        goodShare(other),
        other.attemptsPerRequest.toFixed(2),
      ];
    }),
  ]);
}

const SPAN_MS = 10_000;

/** A table of the effect of shared cooldowns. */
export async function renderCooldowns(seed: number): Promise<string> {
  const rows: TableRow[] = [];
  for (const isShared of [true, false]) {
    const { calls, responses } = await runCooldowns(seed, isShared);
    const failedAt = (channel: string): number =>
      calls.filter((call) => call.channel === channel && call.status !== 200 && call.beganMs < OUTAGE_MS)
        .length;
    const failed = responses.filter(({ status }) => status !== 200).length;
    rows.push([
      isShared ? "one store" : "a store each",
      responses.length,
      failedAt(DOWN),
      failedAt(LIMITED),
      failed,
    ]);
  }
  return renderTable(`Cooldowns of ${GATEWAYS} gateways: calls in vain in five minutes`, [
    ["", "requests", "to a channel that is down", "to one past its images per minute", "requests failed"],
    ...rows,
  ]);
}
