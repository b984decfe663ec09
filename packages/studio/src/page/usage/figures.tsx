import type { ComponentChildren } from "preact";
import type { UsageReport, UsageSums } from "../../wire.js";
import { useUnits } from "../currency.js";
import { formatCount, formatDuration, formatShort } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { countFailing } from "./measures.js";
import { focusRequests } from "./requests-table.js";

/** The sums of a time, and of the time with which it is compared. */
export interface FigureSums {
  readonly now: UsageSums;
  readonly before: UsageSums | undefined;
}

/** The link scrolls to the list, which is usually below the window. */
function onShowRefused(event: MouseEvent & { readonly currentTarget: HTMLAnchorElement }): void {
  followLink(event);
  if (event.defaultPrevented) requestAnimationFrame(focusRequests);
}

/** The figures of a period, most with their change over the period before. Cost and margin are shown where a cost is known. */
export function Figures({
  now,
  before,
  charges,
  refused,
  refusedAddress,
}: FigureSums & {
  /** Of each currency, if there are several. */
  readonly charges: UsageReport["charges"];
  /** The number of requests that were refused before a provider. `undefined` while it is not known. */
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
          value={formatShort(now.charge)}
          exact={now.charge}
          change={changeOf(
            Number(now.charge),
            Number(before?.charge ?? 0),
            before && formatShort(before.charge),
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
        value={showRate(now, refused, messages)}
        change={listFailing(now, messages)}
      >
        {refused !== undefined && refused > 0 && (
          <a href={refusedAddress} onClick={onShowRefused}>
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
  const { usage: text } = useMessages();
  return charges.map(({ currency, charge }) => (
    <Figure
      key={currency}
      isMain
      name={currency === "" ? text.spend : text.inUnit(text.spend, currency)}
      value={formatShort(charge)}
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
        value={formatShort(cost)}
        exact={cost}
        change={text.costOf(formatCount(known, language), formatCount(requests, language))}
      />
      <Figure name={text.margin} value={formatShort(margin)} exact={margin} change={share} />
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

/** The part of the requests that did not succeed, by what their clients saw. */
function showRate(sums: UsageSums, refused: number | undefined, { language }: Messages): string {
  if (refused === undefined) return "…";
  const all = sums.requests + refused;
  if (all === 0) return "–";
  return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(
    (countFailing(sums) + refused) / all,
  );
}

/** What became of those that reached a provider: `2 failed · 1 unknown outcome`. */
function listFailing(
  { refused, failed, unresolved }: UsageSums,
  { usage: text, language }: Messages,
): string {
  const counts = [
    [refused, text.refusedCount],
    [failed, text.failedCount],
    [unresolved, text.unresolvedCount],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, write]) => write(formatCount(count, language)))
    .join(" · ");
}

export function rateOf(sums: UsageSums): number {
  return countFailing(sums) / sums.requests;
}

function showMedian({ medianMs }: UsageSums, messages: Messages): string {
  return medianMs === undefined ? "–" : formatDuration(medianMs, messages.language);
}
