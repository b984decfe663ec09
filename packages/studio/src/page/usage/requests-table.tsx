import { useRef, useState } from "preact/hooks";
import type { RecordPage, UsageRecord } from "../../wire.js";
import { type ApiError, BASE, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { ActionFailure, Failure, Loading } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { useNextFocus } from "../components/focus.js";
import { formatAmount, formatCount, formatSeconds, formatShortTime, padAmounts, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { toApiError, useData } from "../use-data.js";
import { OUTCOMES, OutcomeOf } from "./outcome.js";
import { addressOfSelection, goTo, type Selection, SORTS, withFilter } from "./selection.js";

/** How many records the server exports. */
const MAX_EXPORTED = 100_000;

/** The requests that the filters select, page by page. `search` is the query of the server. */
export function RequestsTable({
  selection,
  search,
  round,
  count,
}: {
  readonly selection: Selection;
  readonly search: string;
  /** Changes when the list is to be read again. */
  readonly round: number;
  /** How many requests there are, if it is known. */
  readonly count: number | undefined;
}) {
  const { usage: text, language } = useMessages();
  const latest = useRef<RecordPage>({ records: [] });
  return (
    <section class="section">
      <h2>
        {text.requests} {count !== undefined && <span class="soft">{formatCount(count, language)}</span>}
      </h2>
      <p class="hidden-text" role="status">
        {count !== undefined && text.requestCount(formatCount(count, language))}
      </p>
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
      <Pages key={`${search} ${round}`} selection={selection} search={search} latest={latest} />
      <p class="actions">
        <a href={`${BASE}/api/records/export?format=csv&${search}`} download>
          {text.exportCsv}
        </a>
        <a href={`${BASE}/api/records/export?format=jsonl&${search}`} download>
          {text.exportJsonl}
        </a>
      </p>
      {count !== undefined && count > MAX_EXPORTED && <p class="small soft">{text.exportCut}</p>}
    </section>
  );
}

function Pages({
  selection,
  search,
  latest,
}: {
  readonly selection: Selection;
  readonly search: string;
  /** The list of the query before. It stays until the new one has come, so that the page does not jump. */
  readonly latest: { current: RecordPage };
}) {
  const { usage: text, language } = useMessages();
  const {
    data: first,
    error,
    reload,
  } = useData(search, (signal) => call<RecordPage>(`records?${search}`, { signal }));
  const [later, setLater] = useState<readonly RecordPage[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [moreError, setMoreError] = useState<ApiError>();
  if (first === undefined) {
    if (error !== undefined) return <Failure error={error} onRetry={reload} />;
    const before = latest.current;
    if (before.records.length === 0) return <Loading />;
    return (
      <>
        <div aria-busy="true">
          <Table records={before.records} selection={selection} />
        </div>
        {before.next !== undefined && <More isBusy onPress={() => {}} />}
      </>
    );
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
  latest.current = { records, ...(next !== undefined && { next }) };
  if (records.length === 0) return <p class="soft">{text.noMatch}</p>;
  return (
    <>
      <Table records={records} selection={selection} />
      <ActionFailure error={moreError} />
      <p class="hidden-text" role="status">
        {later.length > 0 && text.shown(formatCount(records.length, language))}
      </p>
      {next !== undefined && <More isBusy={isBusy} onPress={() => void readMore(next)} />}
    </>
  );
}

function More({ isBusy, onPress }: { readonly isBusy: boolean; readonly onPress: () => void }) {
  const { usage: text } = useMessages();
  // After the last page, reading goes on in the table.
  const line = useNextFocus<HTMLParagraphElement>((leaving) =>
    leaving.closest("section")?.querySelector(".table-frame"),
  );
  return (
    <p ref={line}>
      <ActionButton isOff={isBusy} onPress={onPress}>
        {text.more}
      </ActionButton>
    </p>
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
  const pads = padAmounts(records.map(({ charge }) => charge ?? ""));
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
            <th class="number">{text.inUnit(text.duration, text.secondsUnit)}</th>
            <th class="number">{text.charge}</th>
          </tr>
        </thead>
        <tbody>
          {records.map((record, index) => (
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
              <td class="wrap narrow">
                <bdi>{record.state === "settled" ? record.channel : ""}</bdi>
              </td>
              <td class="number">{record.images}</td>
              <td class="number">
                {record.state === "settled" ? formatSeconds(record.durationMs, language) : ""}
              </td>
              <td class="number" data-pad={pads[index]}>
                {record.charge === null ? "–" : formatAmount(record.charge)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
