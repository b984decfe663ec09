import { useEffect, useRef, useState } from "preact/hooks";
import type { RefusalList, Session, UsageReport } from "../../wire.js";
import { call } from "../api.js";
import { Code, Failure, Loading, StaleNote } from "../components/feedback.js";
import { useNextFocus } from "../components/focus.js";
import { Icon } from "../components/icon.js";
import { formatClock } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { writeSpan } from "../usage/bucket-text.js";
import { Chart } from "../usage/chart.js";
import { type FigureSums, Figures } from "../usage/figures.js";
import { LinesTable, nameOf } from "../usage/lines-table.js";
import { NOT_SUCCESSFUL } from "../usage/outcome.js";
import { Overview } from "../usage/overview.js";
import { type Period, toPeriod } from "../usage/period.js";
import { PeriodPicker } from "../usage/period-picker.js";
import { countRefused, MAX_LISTED } from "../usage/refused-table.js";
import { RequestPanel } from "../usage/request-panel.js";
import { RequestsTable } from "../usage/requests-table.js";
import {
  addressOfSelection,
  FILTERS,
  goTo,
  readSelection,
  type Selection,
  withFilter,
} from "../usage/selection.js";
import { hasTotals, MAX_SERIES } from "../usage/series.js";
import { useData } from "../use-data.js";

const LEDGER = 'createGateway({ …, ledger: createSqliteLedger({ path: "calotype.db" }) })';

/** Spend, images, failures and times, and the single requests. The address has everything that is selected. */
export function UsageView({
  session,
  query,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
}) {
  const messages = useMessages();
  const text = messages.usage;
  const selection = readSelection(query);
  const [now, setNow] = useState(Date.now);
  useReturn(now, setNow);
  const period = toPeriod(selection.period, now, selection.dates);
  const chartSearch = toChartSearch(selection, period);
  const chart = useData(`${chartSearch} ${now}`, (signal) =>
    call<UsageReport>(`usage?${chartSearch}`, { signal }),
  );
  const linesSearch = toLinesSearch(selection, period);
  const lines = useData(`${linesSearch} ${now}`, (signal) =>
    call<UsageReport>(`usage?${linesSearch}`, { signal }),
  );
  const refusedSearch = toRefusedSearch(selection, period);
  const refused = useData(`refusals ${refusedSearch} ${now}`, (signal) =>
    call<RefusalList>(`refusals?${refusedSearch}`, { signal }),
  );
  // The figures and the chart stay until those of another selection have come, so that the page does not jump.
  const latest = useRef<UsageReport | undefined>(undefined);
  if (chart.data !== undefined) latest.current = chart.data;
  const shown = chart.error === undefined ? latest.current : chart.data;
  const isEmpty =
    chart.data?.series.total.sums.requests === 0 &&
    refused.data?.refusals.length === 0 &&
    FILTERS.every((name) => selection.filters[name] === undefined);
  const sums = shown && toFigures(shown, lines.data, selection);
  return (
    <>
      <div class="view-head">
        <div class="title">
          <h1>{messages.views.usage}</h1>
          <p class="small soft">{text.asOf(formatClock(now, messages.language))}</p>
        </div>
        <PeriodPicker selection={selection} period={period} />
        <button type="button" class="button" onClick={() => setNow(Date.now())}>
          <Icon name="refresh" />
          {text.refresh}
        </button>
      </div>
      <div class={selection.request === undefined ? "" : "with-panel"}>
        <div>
          <Overview />
          {chart.error?.code === "no_totals" ? (
            <div class="empty">
              <p>{text.noTotals}</p>
              <p class="soft">{text.noTotalsHint}</p>
              <Code code={LEDGER} label={text.noTotalsHint} />
            </div>
          ) : (
            <>
              {shown === undefined && chart.error === undefined && (
                <div class="chart-place">
                  <Loading />
                </div>
              )}
              {chart.data !== undefined && <StaleNote error={chart.error} />}
              <Chips selection={selection} />
              {chart.data === undefined && chart.error !== undefined ? (
                // The table and the list would fail for the same reason.
                <Failure error={chart.error} onRetry={() => setNow(Date.now())} />
              ) : isEmpty ? (
                <Empty session={session} />
              ) : (
                <>
                  <div aria-busy={shown !== undefined && chart.data === undefined}>
                    {sums !== undefined && (
                      <Figures
                        {...sums}
                        charges={selection.span === undefined ? shown?.charges : lines.data?.charges}
                        refused={
                          hasRefusals(selection) && refused.error === undefined
                            ? refused.data && countRefused(refused.data)
                            : 0
                        }
                        refusedAddress={addressOfSelection({ ...selection, isRefused: true })}
                      />
                    )}
                    {shown !== undefined && <Chart report={shown} selection={selection} />}
                  </div>
                  <LinesTable selection={selection} lines={lines} />
                  <RequestsTable
                    round={now}
                    selection={selection}
                    search={toRecordSearch(selection, period)}
                    count={sums?.now.requests}
                    refused={refused}
                  />
                </>
              )}
            </>
          )}
        </div>
        {selection.request !== undefined && (
          <RequestPanel
            key={selection.request}
            id={selection.request}
            onClose={() => goTo({ ...selection, request: undefined })}
          />
        )}
      </div>
    </>
  );
}

/** After this time, what is shown is read again when the person comes back to the page. */
const OLD_MS = 5 * 60_000;

/** Reads everything again when the page is shown again after some time, such as on the next morning. */
function useReturn(readAt: number, onRead: (now: number) => void): void {
  useEffect(() => {
    const check = (): void => {
      if (!document.hidden && Date.now() - readAt > OLD_MS) onRead(Date.now());
    };
    document.addEventListener("visibilitychange", check);
    return () => document.removeEventListener("visibilitychange", check);
  }, [readAt, onRead]);
}

/** The whole period over time, with the lines that are parts of the bars, and the one before. */
function toChartSearch({ by, filters }: Selection, period: Period): string {
  const parts = hasTotals(by) ? { by, limit: String(MAX_SERIES) } : {};
  return new URLSearchParams({ ...period, ...filters, ...parts }).toString();
}

/** The lines of the part of the period that is selected. */
function toLinesSearch({ by, tagKey, filters, span }: Selection, { from, to }: Period): string {
  const key = by !== "tag" ? { by } : tagKey === "" ? {} : { by: `tag:${tagKey}` };
  return new URLSearchParams({ ...(span ?? { from, to }), ...filters, ...key, limit: "20" }).toString();
}

/** Refusals have a caller and a model, and nothing else that can be filtered. */
function toRefusedSearch({ filters, span }: Selection, { from, to }: Period): string {
  const { caller, model } = filters;
  return new URLSearchParams({
    ...(span ?? { from, to }),
    ...(caller !== undefined && { caller }),
    ...(model !== undefined && { model }),
    limit: String(MAX_LISTED),
  }).toString();
}

/** Whether the filters can select refusals. */
function hasRefusals({ filters }: Selection): boolean {
  return FILTERS.every((name) => name === "caller" || name === "model" || filters[name] === undefined);
}

function toRecordSearch({ sort, filters, span }: Selection, { from, to }: Period): string {
  return new URLSearchParams({ ...(span ?? { from, to }), sort, ...filters }).toString();
}

/** The sums of the period, or of the part that is selected: usually one bucket of the chart. */
function toFigures(
  { series, previous }: UsageReport,
  lines: UsageReport | undefined,
  { span }: Selection,
): FigureSums | undefined {
  if (span === undefined) return { now: series.total.sums, before: previous?.total.sums };
  const at = series.buckets.findIndex(({ from, to }) => from === span.from && to === span.to);
  const now = series.total.points[at] ?? lines?.series.total.sums;
  return now && { now, before: previous?.total.points[at] };
}

function Empty({ session: { gatewayPath } }: { readonly session: Session }) {
  const messages = useMessages();
  const { usage: text } = messages;
  const request = `curl ${location.origin}${gatewayPath}/v1/images/generations \\
  -H "Authorization: Bearer $CALOTYPE_API_KEY" -H "Content-Type: application/json" \\
  -d '{"model": "…", "prompt": "a fox"}'`;
  return (
    <div class="empty">
      <p>{text.empty}</p>
      <p class="soft">{text.emptyHint}</p>
      <a href={addressOf("try")} onClick={followLink}>
        {messages.views.try}
      </a>
      <Code code={request} label={text.emptyHint} />
    </div>
  );
}

/** What is selected, each with a button that removes it. */
function Chips({ selection }: { readonly selection: Selection }) {
  const messages = useMessages();
  const { usage: text, language } = messages;
  const { span, filters } = selection;
  const chips = FILTERS.flatMap((name) => {
    const value = filters[name];
    if (value === undefined) return [];
    const rest = withFilter(selection, name, undefined);
    if (name === "outcomes") {
      const outcomes: Readonly<Record<string, string>> = text.outcomes;
      const named = value === NOT_SUCCESSFUL ? text.failureRate : outcomes[value];
      return [{ name: text.result, value: named ?? value, rest }];
    }
    const key = name === "tag" ? value.slice(0, value.indexOf("=")) : "";
    return [{ name: key || text.dimensions[name], value: nameOf(name, value, messages), rest }];
  });
  if (span !== undefined) {
    const rest = { ...selection, span: undefined };
    chips.unshift({ name: text.selectedTime, value: writeSpan(span, language), rest });
  }
  if (chips.length === 0) return null;
  return (
    <ul class="chips" aria-label={text.filters}>
      {chips.map(({ name, value, rest }) => (
        <Chip key={name} name={name} value={value} onRemove={() => goTo(rest)} />
      ))}
    </ul>
  );
}

function Chip({
  name,
  value,
  onRemove,
}: {
  readonly name: string;
  readonly value: string;
  readonly onRemove: () => void;
}) {
  const { usage: text } = useMessages();
  const item = useNextFocus<HTMLLIElement>((leaving) =>
    (leaving.nextElementSibling ?? leaving.previousElementSibling)?.querySelector("button"),
  );
  return (
    <li ref={item}>
      <button type="button" class="button" aria-label={text.removeFilter(name, value)} onClick={onRemove}>
        <span class="soft">{name}</span> <bdi class="chip-value">{value}</bdi> <Icon name="close" />
      </button>
    </li>
  );
}
