import { useRef, useState } from "preact/hooks";
import type { RecordPage, RefusalList, UsageRecord } from "../../wire.js";
import { type ApiError, BASE, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { AmountCell } from "../components/amount-cell.js";
import { ActionFailure, Failure, Loading } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { useNextFocus } from "../components/focus.js";
import { ListTable } from "../components/list-table.js";
import { useUnits } from "../currency.js";
import { formatCount, formatSeconds, formatShortTime, placesOf, shorten } from "../format.js";
import { useMessages } from "../messages/index.js";
import { followLink } from "../router.js";
import { type Loaded, toApiError, useData } from "../use-data.js";
import { NOT_SUCCESSFUL, OUTCOMES, OutcomeOf } from "./outcome.js";
import { countRefused, RefusedTable } from "./refused-table.js";
import { addressOfSelection, goTo, type Selection, SORTS, withFilter } from "./selection.js";

/** How many records the server exports. */
const MAX_EXPORTED = 100_000;

const ID = "requests";

/** Shows the list of the requests, and gives it the focus. */
export function focusRequests(): void {
  const section = document.getElementById(ID);
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

/** The requests that the filters select, page by page. `search` is the query of the server. */
export function RequestsTable({
  selection,
  search,
  round,
  count,
  refused,
}: {
  readonly selection: Selection;
  readonly search: string;
  /** Changes when the list is to be read again. */
  readonly round: number;
  /** How many requests there are, if it is known. */
  readonly count: number | undefined;
  /** The requests that reached no provider. */
  readonly refused: Loaded<RefusalList>;
}) {
  const { usage: text, language } = useMessages();
  const { isRefused } = selection;
  const refusedCount = refused.data && countRefused(refused.data);
  const latest = useRef<RecordPage>({ records: [] });
  return (
    <section class="section" id={ID} tabIndex={-1} aria-label={text.requests}>
      <h2>{text.requests}</h2>
      <p class="hidden-text" role="status">
        {count !== undefined && text.requestCount(formatCount(count, language))}
      </p>
      <div class="segments" role="group" aria-label={text.requests}>
        {[false, true].map((each) => (
          <button
            key={String(each)}
            type="button"
            aria-pressed={isRefused === each ? "true" : "false"}
            onClick={() => goTo({ ...selection, isRefused: each })}
          >
            {each ? text.refusedBefore : text.reachedProvider}{" "}
            {formatKnown(each ? refusedCount : count, language)}
          </button>
        ))}
      </div>
      {isRefused ? (
        <RefusedTable refused={refused} selection={selection} />
      ) : (
        <Records
          selection={selection}
          search={search}
          round={round}
          count={count}
          refusedCount={refusedCount}
          latest={latest}
        />
      )}
    </section>
  );
}

const formatKnown = (count: number | undefined, language: string): string =>
  count === undefined ? "" : formatCount(count, language);

/** The requests that have a record, with what selects and sorts them. */
function Records({
  selection,
  search,
  round,
  count,
  refusedCount = 0,
  latest,
}: {
  readonly selection: Selection;
  readonly search: string;
  readonly round: number;
  readonly count: number | undefined;
  readonly refusedCount: number | undefined;
  readonly latest: { current: RecordPage };
}) {
  const { usage: text, language } = useMessages();
  return (
    <>
      <div class="row narrow">
        <ChoiceField
          label={text.result}
          value={selection.filters.outcomes ?? ""}
          onValue={(value) => goTo(withFilter(selection, "outcomes", value === "" ? undefined : value))}
          choices={[
            ["", text.anyResult],
            [NOT_SUCCESSFUL, text.failureRate],
            ...OUTCOMES.map((each) => [each, text.outcomes[each]] as const),
          ]}
        />
        <ChoiceField
          label={text.sort}
          value={selection.sort}
          onValue={(value) => goTo({ ...selection, sort: SORTS.find((sort) => sort === value) ?? "time" })}
          choices={SORTS.map((each) => [each, text.sorts[each]])}
        />
      </div>
      {selection.filters.outcomes === NOT_SUCCESSFUL && refusedCount > 0 && (
        <p>
          <a href={addressOfSelection({ ...selection, isRefused: true })} onClick={followLink}>
            {text.andRefused(formatCount(refusedCount, language))}
          </a>
        </p>
      )}
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
    </>
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
  const { named, unitOf } = useUnits();
  const places = placesOf(records.map(({ charge }) => charge));
  return (
    <ListTable
      label={text.requests}
      kind="requests"
      columns={[
        text.time,
        text.requestId,
        text.result,
        [text.dimensions.caller, "near"],
        [text.dimensions.model, "next"],
        [text.dimensions.channel, "aside"],
        [text.images, "number aside"],
        [text.inUnit(text.duration, text.secondsUnit), "number aside"],
        [named(text.charge), "number"],
      ]}
    >
      <tbody>
        {records.map((record) => (
          <tr key={record.id} class={record.id === selection.request ? "chosen" : undefined}>
            <td class="fixed" title={record.time}>
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
            <td data-label={text.result}>
              <OutcomeOf record={record} />
            </td>
            <td class="wrap near" data-label={text.dimensions.caller}>
              <bdi>{record.caller}</bdi>
            </td>
            <td class="wrap next" data-label={text.dimensions.model}>
              <bdi>{record.model}</bdi>
            </td>
            <td class="wrap narrow aside" data-label={text.dimensions.channel}>
              {record.state === "settled" && <bdi>{record.channel}</bdi>}
            </td>
            <td class="number aside" data-label={text.images}>
              {record.images}
            </td>
            <td class="number aside" data-label={text.inUnit(text.duration, text.secondsUnit)}>
              {record.state === "settled" && formatSeconds(record.durationMs, language)}
            </td>
            <AmountCell
              amount={record.charge}
              places={places}
              label={named(text.charge)}
              unit={unitOf(record.model)}
            />
          </tr>
        ))}
      </tbody>
    </ListTable>
  );
}
