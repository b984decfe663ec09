import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { CallerHistory, CallerRow, ChangedField, KeyUses, NewKey, RecordPage } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { announce } from "../components/announcer.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure, ErrorText, Failure, Loading } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { useNextFocus } from "../components/focus.js";
import { Panel } from "../components/panel.js";
import { formatAmount, formatCount, formatTime } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { addressOf, followLink } from "../router.js";
import { toApiError, useData } from "../use-data.js";
import { AlertList, useAlerts } from "./alert-list.js";
import { CallerForm } from "./caller-form.js";
import { CallerState } from "./caller-table.js";
import { BudgetUse, LimitList } from "./closeness.js";

/** What the panel of a caller may do. */
interface CallerPanelProps extends ActionProps {
  readonly id: string;
  /** `undefined` while it loads, or if it cannot be loaded. */
  readonly caller: CallerRow | undefined;
  readonly error: ApiError | undefined;
  readonly onRetry: () => void;
  readonly onClose: () => void;
}

interface ActionProps {
  readonly isAdmin: boolean;
  readonly onChanged: () => void;
  readonly onNewKey: (created: NewKey) => void;
}

/** The details of a caller beside the list, its keys, what can be done with it, and its last changes. */
export function CallerPanel({ id, caller, error, onRetry, onClose, ...actions }: CallerPanelProps) {
  const { callers: text } = useMessages();
  return (
    <Panel label={text.details(id)} title={id} onClose={onClose}>
      {caller === undefined && error === undefined && <Loading />}
      {caller === undefined && error !== undefined && <Failure error={error} onRetry={onRetry} />}
      {caller !== undefined && <Details caller={caller} {...actions} />}
    </Panel>
  );
}

function Details({ caller, isAdmin, onChanged, onNewKey }: ActionProps & { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  const [open, setOpen] = useState<"change" | "rotate" | "revoke">();
  const isUser = caller.state === "user";
  const isStored = caller.state !== "fixed" && !isUser;
  const done = (said: string): void => {
    setOpen(undefined);
    onChanged();
    announce(said);
  };
  return (
    <>
      <p>
        <CallerState caller={caller} />
      </p>
      {caller.problem !== undefined && <p class="notice bad">{caller.problem}</p>}
      {isAdmin && isStored && caller.state !== "revoked" && (
        <Actions>
          {caller.state === "active" && (
            <>
              <button type="button" class="button" onClick={() => setOpen("change")}>
                {text.change}
              </button>
              <button type="button" class="button" onClick={() => setOpen("rotate")}>
                {text.rotate}
              </button>
            </>
          )}
          <button type="button" class="button" onClick={() => setOpen("revoke")}>
            {text.revoke}
          </button>
        </Actions>
      )}
      <Budget caller={caller} />
      <Alerts caller={caller.id} />
      {!isUser && <Limits caller={caller} />}
      <CallerFacts caller={caller} />
      {!isStored && <p class="soft">{isUser ? text.userHint : text.fixedHint}</p>}
      <p>
        <a href={addressOf("usage", { caller: caller.id })} onClick={followLink}>
          {text.showUsage}
        </a>
      </p>
      {isStored && <History caller={caller} />}
      {open === "change" && (
        <CallerForm
          caller={caller}
          onClose={() => setOpen(undefined)}
          onChanged={() => done(text.changed(caller.id))}
        />
      )}
      {open === "rotate" && (
        <RotateDialog
          id={caller.id}
          onClose={() => setOpen(undefined)}
          onRotated={(created) => {
            setOpen(undefined);
            onNewKey(created);
          }}
        />
      )}
      {open === "revoke" && (
        <RevokeDialog
          id={caller.id}
          onClose={() => setOpen(undefined)}
          onRevoked={() => done(text.revoked(caller.id))}
        />
      )}
    </>
  );
}

/** What can be done with a caller. A revoked one has none of it. */
function Actions({ children }: { readonly children: ComponentChildren }) {
  const actions = useNextFocus<HTMLDivElement>();
  return (
    <div ref={actions} class="actions">
      {children}
    </div>
  );
}

function Budget({ caller }: { readonly caller: CallerRow }) {
  const { callers: text, language } = useMessages();
  const { spent, budget, budgetProblem } = caller;
  const period = typeof budget === "object" ? budget.period : "total";
  return (
    <section class="composer">
      <h3>{text.budget}</h3>
      {budgetProblem !== undefined && <p class="notice bad">{budgetProblem}</p>}
      {spent !== undefined && (
        <>
          <BudgetUse caller={caller} />
          <dl class="facts">
            <dt>{text.left}</dt>
            <dd>
              {spent.left === undefined ? "–" : formatAmount(spent.left)}
              {spent.limit !== undefined &&
                text.ofBudget(formatAmount(spent.limit), text.periods[period] ?? "")}
            </dd>
            <dt>{text.held}</dt>
            <dd>
              {formatAmount(spent.held)} <span class="small soft">{text.heldHint}</span>
            </dd>
            <dt>{text.spent}</dt>
            <dd>{formatAmount(spent.settled)}</dd>
            {spent.to !== undefined && (
              <>
                <dt>{text.periodEnds}</dt>
                <dd>{formatTime(new Date(spent.to).toISOString(), language)}</dd>
              </>
            )}
          </dl>
        </>
      )}
    </section>
  );
}

/** Absent if no part of its budget was reached. */
function Alerts({ caller }: { readonly caller: string }) {
  const { callers: text } = useMessages();
  const { data } = useAlerts(caller);
  if (data === undefined || data.alerts.length === 0) return null;
  return (
    <section class="composer">
      <h3>{text.alerts}</h3>
      <AlertList alerts={data.alerts} />
    </section>
  );
}

function Limits({ caller: { limitStates } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  return (
    <section class="composer">
      <h3>{text.limitsNow}</h3>
      {limitStates === undefined && <p class="notice bad">{text.limitsUnreadHint}</p>}
      {limitStates === null && <p class="soft">{text.limitsUnknownHint}</p>}
      {limitStates?.length === 0 && <p class="soft">{text.noLimitsHint}</p>}
      {limitStates && limitStates.length > 0 && <LimitList limits={limitStates} />}
    </section>
  );
}

function CallerFacts({ caller }: { readonly caller: CallerRow }) {
  const { callers: text, language } = useMessages();
  const { state, group, models, expiresAt, keys, createdAt } = caller;
  return (
    <dl class="facts">
      {state !== "user" && (
        <>
          <dt>{text.group}</dt>
          <dd>{group ?? "default"}</dd>
          <dt>{text.models}</dt>
          <dd>{models?.join(", ") ?? text.allModels}</dd>
          <dt>{text.expires}</dt>
          <dd>{typeof expiresAt === "string" ? formatTime(expiresAt, language) : text.never}</dd>
        </>
      )}
      <LastRequest caller={caller.id} />
      {createdAt !== undefined && (
        <>
          <dt>{text.created}</dt>
          <dd>{formatTime(createdAt, language)}</dd>
        </>
      )}
      {keys !== undefined && keys.length > 0 && (
        <>
          <dt>{text.keys}</dt>
          <dd>{keys.length > 1 ? <UsedKeys id={caller.id} keys={keys} /> : <KeyList keys={keys} />}</dd>
        </>
      )}
    </dl>
  );
}

/** The last request of each key, so that it is known which is not used any more. Only if there are several keys. */
function UsedKeys({ id, keys }: { readonly id: string; readonly keys: Keys }) {
  const path = `callers/${encodeURIComponent(id)}/keys`;
  const { data } = useData(path, (signal) => call<KeyUses>(path, { signal }));
  return <KeyList keys={keys} uses={data} />;
}

type Keys = NonNullable<CallerRow["keys"]>;

function KeyList({ keys, uses }: { readonly keys: Keys; readonly uses?: KeyUses | undefined }) {
  const { callers: text, language } = useMessages();
  return (
    <ul>
      {keys.map(({ hint, createdAt, endsAt }) => (
        <li key={createdAt + hint}>
          <code>{hint}</code>{" "}
          {endsAt !== undefined && (
            <span class="small soft">{text.keyEnds(formatTime(endsAt, language))}</span>
          )}{" "}
          {uses !== undefined && <LastUse hint={hint} uses={uses} />}
        </li>
      ))}
    </ul>
  );
}

function LastUse({
  hint,
  uses: { uses, records, isAll },
}: {
  readonly hint: string;
  readonly uses: KeyUses;
}) {
  const { callers: text, language } = useMessages();
  const use = uses.find((each) => each.hint === hint);
  if (use === undefined) {
    return (
      <span class="small soft">
        {isAll ? text.keyUnused : text.keyUnusedIn(formatCount(records, language))}
      </span>
    );
  }
  return (
    <a class="small" href={addressOf("usage", { request: use.requestId })} onClick={followLink}>
      {text.keyUsed(formatTime(use.time, language))}
    </a>
  );
}

/** When its key was used last for an image. Absent if no record is kept. */
function LastRequest({ caller }: { readonly caller: string }) {
  const { callers: text, language } = useMessages();
  const search = new URLSearchParams({ caller, limit: "1" }).toString();
  const { data } = useData(`last ${search}`, (signal) => call<RecordPage>(`records?${search}`, { signal }));
  const [last] = data?.records ?? [];
  if (last === undefined) return null;
  return (
    <>
      <dt>{text.lastRequest}</dt>
      <dd>
        <a href={addressOf("usage", { caller, request: last.id })} onClick={followLink}>
          {formatTime(last.time, language)}
        </a>
      </dd>
    </>
  );
}

function History({ caller }: { readonly caller: CallerRow }) {
  const { callers: text, language } = useMessages();
  const path = `callers/${encodeURIComponent(caller.id)}/audit`;
  const { data, error } = useData(`${path} ${caller.changedAt}`, () => call<CallerHistory>(path));
  return (
    <section class="composer">
      <h3>{text.history}</h3>
      {error !== undefined && <ErrorText error={error} />}
      {data?.lines.length === 0 && <p class="soft">{text.noHistory}</p>}
      <ul class="history">
        {data?.lines.map((line) => (
          <li key={line.sequence}>
            {text.actions[line.action] ?? line.action}{" "}
            <span class="small soft">
              {formatTime(line.time, language)} · {line.by}
            </span>
            {line.fields.length > 0 && (
              <ul class="small">
                {line.fields.map((change) => (
                  <li key={change.field} class="wrap">
                    <code>{change.field}</code> {describeChange(change, text)}
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Such as `5 → 8 per month`. A value that was or is not set has a word. */
function describeChange({ from, to }: ChangedField, text: Messages["callers"]): string {
  return `${describeValue(from, text)} → ${describeValue(to, text)}`;
}

function describeValue(value: unknown, { notSet, periods }: Messages["callers"]): string {
  if (value === undefined) return notSet;
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "amount" in value && "period" in value) {
    const zone = "timeZone" in value ? ` (${String(value.timeZone)})` : "";
    return `${String(value.amount)} ${periods[String(value.period)] ?? String(value.period)}${zone}`;
  }
  return JSON.stringify(value);
}

const OVERLAPS: Readonly<Record<string, number>> = { now: 0, hour: 3_600, day: 86_400, week: 604_800 };

function RotateDialog({
  id,
  onClose,
  onRotated,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onRotated: (created: NewKey) => void;
}) {
  const messages = useMessages();
  const text = messages.callers;
  const [overlap, setOverlap] = useState("day");
  const { run, error, isBusy } = useAction(async () => {
    const overlapSeconds = OVERLAPS[overlap];
    const path = `callers/${encodeURIComponent(id)}/rotate`;
    onRotated(await call<NewKey>(path, { method: "POST", body: { overlapSeconds } }));
  });
  return (
    <Dialog title={text.rotateTitle(id)} onClose={onClose}>
      <p>{text.rotateHint}</p>
      <ChoiceField
        label={text.overlap}
        value={overlap}
        onValue={setOverlap}
        choices={Object.entries(text.overlaps)}
      />
      <ActionFailure error={error} />
      <div class="actions">
        <ActionButton class="button primary" isOff={isBusy} onPress={run}>
          {text.rotateStart}
        </ActionButton>
        <button type="button" class="button" onClick={onClose}>
          {messages.cancel}
        </button>
      </div>
    </Dialog>
  );
}

function RevokeDialog({
  id,
  onClose,
  onRevoked,
}: {
  readonly id: string;
  readonly onClose: () => void;
  readonly onRevoked: () => void;
}) {
  const messages = useMessages();
  const text = messages.callers;
  const { run, error, isBusy } = useAction(async () => {
    await call(`callers/${encodeURIComponent(id)}/revoke`, { method: "POST", body: {} });
    onRevoked();
  });
  // Not the button that cannot be undone.
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <Dialog title={text.revokeTitle(id)} onClose={onClose} initialFocus={cancel}>
      <ul class="bullets">
        {text.revokeHints.map((hint) => (
          <li key={hint}>{hint}</li>
        ))}
      </ul>
      <ActionFailure error={error} />
      <div class="actions">
        <ActionButton class="button danger" isOff={isBusy} onPress={run}>
          {text.revoke}
        </ActionButton>
        <button ref={cancel} type="button" class="button" onClick={onClose}>
          {messages.cancel}
        </button>
      </div>
    </Dialog>
  );
}

/** An action that a button begins, once at a time. */
function useAction(work: () => Promise<void>) {
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const run = (): void => {
    setBusy(true);
    setError(undefined);
    work().catch((cause: unknown) => {
      setError(toApiError(cause));
      setBusy(false);
    });
  };
  return { run, error, isBusy };
}
