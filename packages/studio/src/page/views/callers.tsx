import { useEffect, useRef, useState } from "preact/hooks";
import type { CallerRow, CallerRows, NewKey, Session } from "../../wire.js";
import { call } from "../api.js";
import { AlertList, countRecent, useAlerts } from "../callers/alert-list.js";
import { CallerForm } from "../callers/caller-form.js";
import { CallerPanel } from "../callers/caller-panel.js";
import { CallerTable } from "../callers/caller-table.js";
import { NewKeyDialog } from "../callers/new-key-dialog.js";
import {
  CALLER_SORTS,
  CALLER_STATES,
  type CallerSelection,
  goToCallers,
  readCallerSelection,
  toListQuery,
} from "../callers/selection.js";
import { ActionButton } from "../components/action-button.js";
import { Code, Failure, Loading, StaleNote, Status } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { Icon } from "../components/icon.js";
import { formatCount } from "../format.js";
import { useMessages } from "../messages/index.js";
import { useData } from "../use-data.js";

const FIXED = 'callers: [{ id: "web-shop", hash: process.env.WEB_SHOP_KEY_HASH }]';
const LEDGER = 'ledger: createSqliteLedger({ path: "calotype.db" })';
const REFRESH_SECONDS = 10;

/** The callers of the options and of the ledger, those first that are closest to their budgets. The address has everything. */
export function CallersView({
  session,
  query,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
}) {
  const messages = useMessages();
  const text = messages.callers;
  const selection = readCallerSelection(query);
  const search = toListQuery(selection);
  const { data, error, reload } = useData(
    `callers ${search}`,
    () => call<CallerRows>(`callers?${search}`),
    REFRESH_SECONDS,
  );
  // The list stays until that of another selection has come, so that the page does not jump.
  const latest = useRef<CallerRows | undefined>(undefined);
  if (data !== undefined) latest.current = data;
  const shown = error === undefined ? latest.current : data;
  const isAsked = query.has("create");
  const [isCreating, setCreating] = useState(isAsked);
  useEffect(() => {
    if (isAsked) setCreating(true);
  }, [isAsked]);
  const [newKey, setNewKey] = useState<NewKey>();
  const [round, setRound] = useState(0);
  const isAdmin = session.role === "admin";
  const refresh = (): void => {
    reload();
    setRound((old) => old + 1);
  };
  const isEmpty = shown !== undefined && shown.summary.callers === 0 && shown.groups.length === 0;
  return (
    <>
      <div class="view-head">
        <h1>{text.title}</h1>
        {isAdmin && shown?.canCreate === true && (
          <button type="button" class="button primary" onClick={() => setCreating(true)}>
            <Icon name="add" />
            {text.create}
          </button>
        )}
      </div>
      <div class={selection.caller === undefined ? "" : "with-panel"}>
        <div>
          {shown === undefined && error === undefined && <Loading />}
          {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
          {data !== undefined && <StaleNote error={error} />}
          {shown !== undefined && isEmpty && <Empty canCreate={shown.canCreate} />}
          {shown !== undefined && !isEmpty && (
            <>
              <Summary rows={shown} />
              <Alerts />
              <Filters selection={selection} groups={shown.groups} />
              {shown.callers.length === 0 ? (
                <p class="empty" role="status">
                  {text.noMatch}
                </p>
              ) : (
                <CallerTable
                  callers={shown.callers}
                  selection={selection}
                  hasGroups={shown.groups.length > 1}
                />
              )}
              <Pages rows={shown} selection={selection} />
              {shown.isCut && <p class="notice section">{text.isCut}</p>}
              {!shown.canCreate && <p class="notice section">{text.cannotCreate}</p>}
              {!shown.hasUsers && <p class="notice section">{text.noUsers}</p>}
            </>
          )}
        </div>
        {selection.caller !== undefined && (
          <OpenPanel
            key={selection.caller}
            id={selection.caller}
            round={round}
            isAdmin={isAdmin}
            onClose={() => goToCallers({ ...selection, caller: undefined })}
            onChanged={refresh}
            onNewKey={(created) => {
              setNewKey(created);
              refresh();
            }}
          />
        )}
      </div>
      {isCreating && isAdmin && shown?.canCreate === true && (
        <CallerForm
          onClose={() => {
            setCreating(false);
            if (isAsked) goToCallers(selection, { replace: true });
          }}
          onCreated={(created) => {
            setCreating(false);
            setNewKey(created);
            refresh();
            goToCallers({ ...selection, caller: created.caller.id });
          }}
        />
      )}
      {newKey !== undefined && <NewKeyDialog created={newKey} onClose={() => setNewKey(undefined)} />}
    </>
  );
}

/** Loads the caller itself, which need not be on the page of the list. */
function OpenPanel({
  id,
  round,
  ...actions
}: {
  readonly id: string;
  /** Changes after a change of a caller. */
  readonly round: number;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
  readonly onChanged: () => void;
  readonly onNewKey: (created: NewKey) => void;
}) {
  const path = `callers/${encodeURIComponent(id)}`;
  const { data, error, reload } = useData(path, () => call<CallerRow>(path), REFRESH_SECONDS);
  useEffect(() => {
    if (round > 0) reload();
  }, [round, reload]);
  return <CallerPanel id={id} caller={data} error={error} onRetry={reload} {...actions} />;
}

/** Who is close to a budget, in one sentence. */
function Summary({ rows: { summary } }: { readonly rows: CallerRows }) {
  const { callers: text, language } = useMessages();
  const { callers, near, empty } = summary;
  return (
    <p class="summary" role="status">
      <span>{text.countOf(formatCount(callers, language), callers)}</span>
      {empty > 0 && <Status tone="bad">{text.emptyCount(formatCount(empty, language))}</Status>}
      {near > 0 && <Status tone="warn">{text.nearCount(formatCount(near, language))}</Status>}
      {empty + near === 0 && <Status tone="good">{text.noneNear}</Status>}
    </p>
  );
}

/** The alerts of all callers, behind their number. Absent if there is none. */
function Alerts() {
  const { callers: text, language } = useMessages();
  const { data } = useAlerts();
  if (data === undefined || data.alerts.length === 0) return null;
  const { alerts } = data;
  return (
    <details class="alerts">
      <summary>{text.alertCount(formatCount(countRecent(alerts), language))}</summary>
      <AlertList alerts={alerts} hasCallers />
    </details>
  );
}

/** How long after the last key the list is searched, in milliseconds. */
const TYPING_MS = 250;

function Filters({
  selection,
  groups,
}: {
  readonly selection: CallerSelection;
  readonly groups: readonly string[];
}) {
  const { callers: text } = useMessages();
  const [typed, setTyped] = useState(selection.q);
  const latest = useRef(selection);
  latest.current = selection;
  useEffect(() => {
    if (typed === latest.current.q) return undefined;
    const timer = setTimeout(
      () => goToCallers({ ...latest.current, q: typed, page: 1 }, { replace: true }),
      TYPING_MS,
    );
    return () => clearTimeout(timer);
  }, [typed]);
  // Back, forward and links change it, too.
  useEffect(() => setTyped(selection.q), [selection.q]);
  const choose = (change: Partial<CallerSelection>): void =>
    goToCallers({ ...selection, ...change, page: 1 });
  return (
    <div class="row filters">
      <div class="field">
        <label for="caller-search">{text.search}</label>
        <input
          id="caller-search"
          type="search"
          maxLength={512}
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      </div>
      <ChoiceField
        label={text.sort}
        value={selection.sort}
        onValue={(value) => choose({ sort: CALLER_SORTS.find((sort) => sort === value) ?? "budget" })}
        choices={CALLER_SORTS.map((sort) => [sort, text.sorts[sort]])}
      />
      {(groups.length > 1 || selection.group !== "") && (
        <ChoiceField
          label={text.group}
          value={selection.group}
          onValue={(group) => choose({ group })}
          choices={[["", text.allGroups], ...groups.map((group) => [group, group] as const)]}
        />
      )}
      <ChoiceField
        label={text.state}
        value={selection.state}
        onValue={(state) => choose({ state })}
        choices={[
          ["", text.allStates],
          ...CALLER_STATES.map((state) => [state, text.states[state]] as const),
        ]}
      />
    </div>
  );
}

function Pages({ rows, selection }: { readonly rows: CallerRows; readonly selection: CallerSelection }) {
  const { callers: text, language } = useMessages();
  const { pages, matching } = rows;
  if (pages === 1) return null;
  const page = Math.min(selection.page, pages);
  const turn = (to: number): void => goToCallers({ ...selection, page: to });
  return (
    <nav class="actions section-line" aria-label={text.pages}>
      <ActionButton isOff={page === 1} onPress={() => turn(page - 1)}>
        {text.previousPage}
      </ActionButton>
      <span class="small" role="status">
        {text.pageOf(
          formatCount(page, language),
          formatCount(pages, language),
          formatCount(matching, language),
        )}
      </span>
      <ActionButton isOff={page === pages} onPress={() => turn(page + 1)}>
        {text.nextPage}
      </ActionButton>
    </nav>
  );
}

function Empty({ canCreate }: { readonly canCreate: boolean }) {
  const { callers: text } = useMessages();
  return (
    <div class="empty">
      <p>{text.empty}</p>
      <p class="soft">{canCreate ? text.createHint : text.cannotCreate}</p>
      {canCreate && <p class="soft">{text.emptyOption}</p>}
      <Code code={canCreate ? FIXED : LEDGER} label={canCreate ? text.emptyOption : text.cannotCreate} />
    </div>
  );
}
