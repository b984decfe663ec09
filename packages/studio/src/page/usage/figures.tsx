import type { ComponentChildren } from "preact";
import type { UsageReport, UsageSums } from "../../wire.js";
import { useUnits } from "../currency.js";
import { formatCount, formatDuration, formatLargeAmount } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { countFailing } from "./measures.js";

/** The sums of a time, and of the time with which it is compared. */
export interface FigureSums {
  readonly now: UsageSums;
  readonly before: UsageSums | undefined;
}

/** The figures of a period, each with its change over the period before. Cost and margin are shown where a cost is known. */
export function Figures({
  now,
  before,
  charges,
  refused,
  refusedAddress,
}: FigureSums & {
  /** Of each currency, if there are several. */
  readonly charges: UsageReport["charges"];
  /** The number of requests that reached no provider, which are in no other figure. */
  readonly refused: number | undefined;
  /** Where they are listed. */
  readonly refusedAddress: string;
}) {
  const messages = useMessages();
  const { usage: text, language } = messages;
  const { named } = useUnits();
  return (
    <dl class="figures">
      {charges !== undefined ? (
        <Charges charges={charges} />
      ) : (
        <Figure
          isMain
          name={named(text.spend)}
          value={formatLargeAmount(now.charge, language)}
          exact={now.charge}
          change={changeOf(
            Number(now.charge),
            Number(before?.charge ?? 0),
            before && formatLargeAmount(before.charge, language),
            messages,
          )}
        />
      )}
      <Figure
        name={text.images}
        value={formatCount(now.images, language)}
        change={changeOf(
          now.images,
          before?.images ?? 0,
          before && formatCount(before.images, language),
          messages,
        )}
      />
      <Figure
        name={text.failureRate}
        value={showRate(now, messages)}
        change={changeOfRate(now, before, messages)}
      >
        {refused !== undefined && refused > 0 && (
          <a href={refusedAddress} onClick={followLink}>
            {text.andRefused(formatCount(refused, language))}
          </a>
        )}
      </Figure>
      <Figure
        name={text.medianTime}
        value={showMedian(now, messages)}
        change={changeOf(
          now.medianMs ?? 0,
          before?.medianMs ?? 0,
          before && showMedian(before, messages),
          messages,
        )}
      />
      {now.costs !== undefined && charges === undefined && (
        <CostFigures costs={now.costs} requests={now.requests} />
      )}
    </dl>
  );
}

/** The spend in each currency. Amounts of different currencies are not added up. */
function Charges({ charges }: { readonly charges: NonNullable<UsageReport["charges"]> }) {
  const { usage: text, language } = useMessages();
  return charges.map(({ currency, charge }) => (
    <Figure
      key={currency}
      isMain
      name={currency === "" ? text.spend : text.inUnit(text.spend, currency)}
      value={formatLargeAmount(charge, language)}
      exact={charge}
      change=""
    />
  ));
}

/** What the operator pays and keeps, of the requests whose cost is known. */
function CostFigures({
  costs: { requests: known, charge, cost, margin },
  requests,
}: {
  readonly costs: NonNullable<UsageSums["costs"]>;
  readonly requests: number;
}) {
  const { usage: text, language } = useMessages();
  const percent = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
  const share = Number(charge) === 0 ? "" : text.marginShare(percent.format(Number(margin) / Number(charge)));
  return (
    <>
      <Figure
        name={text.cost}
        value={formatLargeAmount(cost, language)}
        exact={cost}
        change={text.costOf(formatCount(known, language), formatCount(requests, language))}
      />
      <Figure name={text.margin} value={formatLargeAmount(margin, language)} exact={margin} change={share} />
    </>
  );
}

interface FigureTexts {
  readonly name: string;
  readonly value: string;
  readonly change: string;
  /** The value before it was rounded. */
  readonly exact?: string;
  /** Whether it is the figure that matters most. */
  readonly isMain?: boolean;
  readonly children?: ComponentChildren;
}

function Figure({ name, value, change, exact, isMain = false, children }: FigureTexts) {
  return (
    <div class={isMain ? "main" : undefined}>
      <dt>{name}</dt>
      <dd class="figure" title={exact}>
        {value}
      </dd>
      <dd class="small soft">{change}</dd>
      {children && <dd class="small">{children}</dd>}
    </div>
  );
}

/** The change in percent, with the value of before. Only this ratio is a number of JavaScript. */
function changeOf(
  now: number,
  before: number,
  shown: string | undefined,
  { usage: text, language }: Messages,
): string {
  if (shown === undefined) return "";
  if (before === 0) return text.noneBefore;
  if (now === 0) return text.before(shown);
  const percent = new Intl.NumberFormat(language, {
    style: "percent",
    maximumFractionDigits: 0,
    signDisplay: "exceptZero",
  }).format(now / before - 1);
  return `${percent} · ${text.before(shown)}`;
}

/** A change of a rate is the difference of two percentages. */
function changeOfRate(now: UsageSums, before: UsageSums | undefined, messages: Messages): string {
  const { usage: text, language } = messages;
  if (before === undefined) return "";
  if (before.requests === 0) return text.noneBefore;
  if (now.requests === 0) return text.before(showRate(before, messages));
  const points = new Intl.NumberFormat(language, {
    maximumFractionDigits: 1,
    signDisplay: "exceptZero",
  }).format((rateOf(now) - rateOf(before)) * 100);
  return `${text.points(points)} · ${text.before(showRate(before, messages))}`;
}

/** The part of the requests that were refused or failed. */
function showRate(sums: UsageSums, { language }: Messages): string {
  if (sums.requests === 0) return "–";
  return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(rateOf(sums));
}

export function rateOf(sums: UsageSums): number {
  return countFailing(sums) / sums.requests;
}

function showMedian({ medianMs }: UsageSums, messages: Messages): string {
  return medianMs === undefined ? "–" : formatDuration(medianMs, messages.language);
}
