import { useState } from "preact/hooks";
import type { RecordPage, UsageRecord } from "../../wire.js";
import { type ApiError, BASE, call } from "../api.js";
import { ActionFailure, Failure, Loading } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { formatAmount, formatCount, formatNumber, formatShortTime, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { toApiError, useData } from "../use-data.js";
import { OUTCOMES, OutcomeOf } from "./outcome.js";
import { addressOfSelection, goTo, type Selection, SORTS, withFilter } from "./selection.js";

/** The requests that the filters select, page by page. `search` is the query of the server. */
export function RequestsTable({
  selection,
  search,
  count,
}: {
  readonly selection: Selection;
  readonly search: string;
  /** How many requests there are, if it is known. */
  readonly count: number | undefined;
}) {
  const { usage: text, language } = useMessages();
  return (
    <section class="section">
      <h2>
        {text.requests} {count !== undefined && <span class="soft">{formatCount(count, language)}</span>}
      </h2>
      <div class="row narrow">
        <ChoiceField
          label={text.result}
          value={selection.filters.outcomes ?? ""}
          onValue={(value) => goTo(withFilter(selection, "outcomes", value === "" ? undefined : value))}
          choices={[["", text.anyResult], ...OUTCOMES.map((each) => [each, text.outcomes[each]] as const)]}
        />
        <ChoiceField
          label={text.sort}
          value={selection.sort}
          onValue={(value) => goTo({ ...selection, sort: SORTS.find((sort) => sort === value) ?? "time" })}
          choices={SORTS.map((each) => [each, text.sorts[each]])}
        />
      </div>
      {/* Another query begins with its own first page. */}
      <Pages key={search} selection={selection} search={search} />
      <p class="actions">
        <a href={`${BASE}/api/records/export?format=csv&${search}`} download>
          {text.exportCsv}
        </a>
        <a href={`${BASE}/api/records/export?format=jsonl&${search}`} download>
          {text.exportJsonl}
        </a>
      </p>
    </section>
  );
}

function Pages({ selection, search }: { readonly selection: Selection; readonly search: string }) {
  const { usage: text } = useMessages();
  const { data: first, error, reload } = useData(search, () => call<RecordPage>(`records?${search}`));
  const [later, setLater] = useState<readonly RecordPage[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [moreError, setMoreError] = useState<ApiError>();
  if (first === undefined) {
    return error === undefined ? <Loading /> : <Failure error={error} onRetry={reload} />;
  }
  const { next } = later.at(-1) ?? first;
  const readMore = async (cursor: string): Promise<void> => {
    setBusy(true);
    setMoreError(undefined);
    try {
      const page = await call<RecordPage>(`records?${search}&${new URLSearchParams({ cursor }).toString()}`);
      setLater((old) => [...old, page]);
    } catch (cause) {
      setMoreError(toApiError(cause));
    }
    setBusy(false);
  };
  const records = [first, ...later].flatMap((page) => page.records);
  if (records.length === 0) return <p class="soft">{text.noMatch}</p>;
  return (
    <>
      <Table records={records} selection={selection} />
      <ActionFailure error={moreError} />
      {next !== undefined && (
        <p>
          <button type="button" class="button" disabled={isBusy} onClick={() => void readMore(next)}>
            {text.more}
          </button>
        </p>
      )}
    </>
  );
}

function Table({
  records,
  selection,
}: {
  readonly records: readonly UsageRecord[];
  readonly selection: Selection;
}) {
  const { usage: text, language } = useMessages();
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.requests}>
      <table>
        <thead>
          <tr>
            <th>{text.time}</th>
            <th>{text.requestId}</th>
            <th>{text.result}</th>
            <th>{text.dimensions.caller}</th>
            <th>{text.dimensions.model}</th>
            <th>{text.dimensions.channel}</th>
            <th class="number">{text.images}</th>
            <th class="number">{text.duration}, s</th>
            <th class="number">{text.charge}</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record) => (
            <tr key={record.id} class={record.id === selection.request ? "chosen" : undefined}>
              <td class="small fixed" title={record.time}>
                {formatShortTime(record.time, language)}
              </td>
              <td class="fixed">
                <a
                  class="mono"
                  title={record.id}
                  href={addressOfSelection({ ...selection, request: record.id })}
                  onClick={followLink}
                >
                  {shorten(record.id, 15)}
                </a>
              </td>
              <td>
                <OutcomeOf record={record} />
              </td>
              <td class="wrap">
                <bdi>{record.caller}</bdi>
              </td>
              <td class="wrap">
                <bdi>{record.model}</bdi>
              </td>
              <td class="wrap">
                <bdi>{record.state === "settled" ? record.channel : ""}</bdi>
              </td>
              <td class="number">{record.images}</td>
              <td class="number">
                {record.state === "settled" ? formatNumber(record.durationMs / 1000, language) : ""}
              </td>
              <td class="number">{record.charge === null ? "–" : formatAmount(record.charge)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
