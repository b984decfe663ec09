import { useRef, useState } from "preact/hooks";
import type { Session, UsageReport } from "../../wire.js";
import { call } from "../api.js";
import { Code, Failure, Loading, StaleNote } from "../components/feedback.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { Chart } from "../usage/chart.js";
import { Figures } from "../usage/figures.js";
import { LinesTable } from "../usage/lines-table.js";
import { PERIODS, type Period, toPeriod } from "../usage/period.js";
import { RequestPanel } from "../usage/request-panel.js";
import { RequestsTable } from "../usage/requests-table.js";
import { FILTERS, goTo, readSelection, type Selection, withFilter } from "../usage/selection.js";
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
  const period = toPeriod(selection.period, now);
  const reportSearch = toReportSearch(selection, period);
  const { data, error, reload } = useData(`${reportSearch} ${now}`, () =>
    call<UsageReport>(`usage?${reportSearch}`),
  );
  // The figures and the chart stay until those of another selection have come, so that the page does not jump.
  const latest = useRef<UsageReport | undefined>(undefined);
  if (data !== undefined) latest.current = data;
  const shown = error === undefined ? latest.current : data;
  const isEmpty =
    data?.series.total.sums.requests === 0 && FILTERS.every((name) => selection.filters[name] === undefined);
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.usage}</h1>
        <FindForm onFind={(request) => goTo({ ...selection, request })} />
        <div class="segments" role="group" aria-label={text.period}>
          {PERIODS.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={selection.period === name ? "true" : "false"}
              onClick={() => goTo({ ...selection, period: name })}
            >
              {text.periods[name]}
            </button>
          ))}
        </div>
        <button type="button" class="button" onClick={() => setNow(Date.now())}>
          {text.refresh}
        </button>
      </div>
      <div class={selection.request === undefined ? "" : "with-panel"}>
        <div>
          {error?.code === "no_totals" ? (
            <div class="empty">
              <p>{text.noTotals}</p>
              <p class="soft">{text.noTotalsHint}</p>
              <Code code={LEDGER} label={text.noTotalsHint} />
            </div>
          ) : (
            <>
              {shown === undefined && error === undefined && <Loading />}
              {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
              {data !== undefined && <StaleNote error={error} />}
              <Chips selection={selection} />
              {isEmpty ? (
                <Empty session={session} />
              ) : (
                shown !== undefined && (
                  <>
                    <Figures report={shown} />
                    <Chart report={shown} />
                  </>
                )
              )}
              {!isEmpty && (
                <>
                  <LinesTable selection={selection} report={data} />
                  <RequestsTable key={now} selection={selection} search={toRecordSearch(selection, period)} />
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

function toReportSearch({ by, tagKey, filters }: Selection, period: Period): string {
  const { outcomes: _outcomes, ...others } = filters;
  const lines = by !== "tag" ? { by } : tagKey === "" ? {} : { by: `tag:${tagKey}` };
  return new URLSearchParams({ ...period, ...others, ...lines, limit: "20" }).toString();
}

function toRecordSearch({ sort, filters }: Selection, { from, to }: Period): string {
  return new URLSearchParams({ from, to, sort, ...filters }).toString();
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

/** The filters that are set, each with a button that removes it. */
function Chips({ selection }: { readonly selection: Selection }) {
  const { usage: text } = useMessages();
  const set = FILTERS.flatMap((name) => {
    const value = selection.filters[name];
    return value === undefined || name === "outcomes" ? [] : [{ name, value }];
  });
  if (set.length === 0) return null;
  return (
    <ul class="chips" aria-label={text.filters}>
      {set.map(({ name, value }) => (
        <li key={name}>
          <button
            type="button"
            class="button"
            aria-label={text.removeFilter(text.dimensions[name], value)}
            onClick={() => goTo(withFilter(selection, name, undefined))}
          >
            <span class="soft">{text.dimensions[name]}</span> {value} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function FindForm({ onFind }: { readonly onFind: (id: string) => void }) {
  const { usage: text } = useMessages();
  const [id, setId] = useState("");
  return (
    <form
      class="find"
      onSubmit={(event) => {
        event.preventDefault();
        if (id.trim() !== "") onFind(id.trim());
      }}
    >
      <input
        class="mono"
        type="search"
        aria-label={text.find}
        placeholder={text.find}
        spellcheck={false}
        value={id}
        onInput={({ currentTarget }) => setId(currentTarget.value)}
      />
      <button type="submit" class="button">
        {text.findButton}
      </button>
    </form>
  );
}
