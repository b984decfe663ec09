import { useState } from "preact/hooks";
import type { CallerRow, CallerRows, NewKey, Session } from "../../wire.js";
import { call } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { Code, CopyButton, Failure, Loading, StaleNote, Status } from "../components/feedback.js";
import { isAtLeast } from "../format.js";
import { useMessages } from "../messages/index.js";
import { addressOf, followLink, go } from "../router.js";
import { useData } from "../use-data.js";
import { CallerForm } from "./caller-form.js";
import { CallerPanel } from "./caller-panel.js";

const SOURCE = 'callers: [{ id: "web-shop", hash: process.env.WEB_SHOP_KEY_HASH }]';

/** The callers of the options and of the ledger, with their budgets. The address names the selected one. */
export function CallersView({
  session,
  query,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
}) {
  const messages = useMessages();
  const text = messages.callers;
  const [pages, setPages] = useState<readonly string[]>([]);
  const { data, error, reload } = useData(`callers ${pages.join(" ")}`, () => loadPages(pages), 10);
  const [isCreating, setCreating] = useState(false);
  const [newKey, setNewKey] = useState<NewKey>();
  const chosen = data?.callers.find(({ id }) => id === query.get("caller"));
  const isAdmin = session.role === "admin";
  return (
    <>
      <div class="view-head">
        <h1>{text.title}</h1>
        {isAdmin && data?.canCreate === true && (
          <button type="button" class="button primary" onClick={() => setCreating(true)}>
            {text.create}
          </button>
        )}
      </div>
      {data === undefined && error === undefined && <Loading />}
      {data === undefined && error !== undefined && <Failure error={error} onRetry={reload} />}
      {data !== undefined && <StaleNote error={error} />}
      {data?.callers.length === 0 && (
        <div class="empty">
          <p>{text.empty}</p>
          <p class="soft">{text.createHint}</p>
          <Code code={SOURCE} label={text.createHint} />
        </div>
      )}
      {data !== undefined && data.callers.length > 0 && (
        <div class={chosen === undefined ? "" : "with-panel"}>
          <div>
            <CallerTable callers={data.callers} chosen={chosen?.id} />
            {data.next !== undefined && (
              <p class="section">
                <button type="button" class="button" onClick={() => setPages([...pages, data.next ?? ""])}>
                  {text.more}
                </button>
              </p>
            )}
            {!data.canCreate && <p class="notice section">{text.cannotCreate}</p>}
          </div>
          {chosen !== undefined && (
            <CallerPanel
              key={chosen.id}
              caller={chosen}
              isAdmin={isAdmin}
              onClose={closePanel}
              onChanged={reload}
              onNewKey={(created) => {
                setNewKey(created);
                reload();
              }}
            />
          )}
        </div>
      )}
      {isCreating && (
        <CallerForm
          onClose={() => setCreating(false)}
          onCreated={(created) => {
            setCreating(false);
            setNewKey(created);
            reload();
            go(addressOf("callers", { caller: created.caller.id }));
          }}
        />
      )}
      {newKey !== undefined && <NewKeyDialog created={newKey} onClose={() => setNewKey(undefined)} />}
    </>
  );
}

function closePanel(): void {
  go(addressOf("callers"));
}

/** Reads the first page and those after it. */
async function loadPages(pages: readonly string[]): Promise<CallerRows> {
  const [first, ...others] = await Promise.all(
    [undefined, ...pages].map((after) =>
      call<CallerRows>(
        after === undefined ? "callers" : `callers?${new URLSearchParams({ after }).toString()}`,
      ),
    ),
  );
  const last = others.at(-1) ?? first;
  return {
    canCreate: first?.canCreate ?? false,
    callers: [first, ...others].flatMap((page) => page?.callers ?? []),
    ...(last?.next !== undefined && { next: last.next }),
  };
}

function CallerTable({
  callers,
  chosen,
}: {
  readonly callers: readonly CallerRow[];
  readonly chosen: string | undefined;
}) {
  const { callers: text } = useMessages();
  return (
    <div class="table-frame" tabIndex={0} role="group" aria-label={text.title}>
      <table>
        <thead>
          <tr>
            <th>{text.caller}</th>
            <th>{text.state}</th>
            <th>{text.group}</th>
            <th class="number">{text.spent}</th>
            <th class="number">{text.held}</th>
            <th class="number">{text.left}</th>
            <th>
              <span class="hidden-text">{text.budget}</span>
            </th>
            <th>{text.limits}</th>
          </tr>
        </thead>
        <tbody>
          {callers.map((caller) => (
            <tr key={caller.id} class={caller.id === chosen ? "chosen" : undefined}>
              <td class="wrap">
                <a href={addressOf("callers", { caller: caller.id })} onClick={followLink}>
                  {caller.id}
                </a>
              </td>
              <td>
                <StateOf caller={caller} />
              </td>
              <td class="wrap">{caller.group ?? "default"}</td>
              <BudgetCells caller={caller} />
              <td class="small soft">
                <LimitsOf caller={caller} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function StateOf({ caller: { state } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  const tones = { fixed: "good", active: "good", revoked: "none", damaged: "bad" } as const;
  return <Status tone={tones[state]}>{text.states[state]}</Status>;
}

function BudgetCells({ caller: { spent, budget, budgetProblem } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  if (spent === undefined) return <td colSpan={4}>{budgetProblem}</td>;
  const period = typeof budget === "object" ? budget.period : undefined;
  return (
    <>
      <td class="number">{spent.settled}</td>
      <td class="number">{spent.held}</td>
      <td class="number">{spent.left ?? <span class="soft">{text.noBudgetShort}</span>}</td>
      <td>
        {spent.limit !== undefined && (
          <>
            <BudgetBar settled={spent.settled} held={spent.held} limit={spent.limit} />
            <span class="small soft">
              {spent.limit} {text.periods[period ?? "total"]}
            </span>
          </>
        )}
      </td>
    </>
  );
}

/** How much of a budget is spent and held. The exact amounts stand beside it. */
function BudgetBar({ settled, held, limit }: Readonly<Record<"settled" | "held" | "limit", string>>) {
  const whole = Number(limit);
  const spentPart = whole === 0 ? 1 : Math.min(1, Number(settled) / whole);
  const heldPart = whole === 0 ? 0 : Math.min(1 - spentPart, Number(held) / whole);
  return (
    <svg
      class={isAtLeast(settled, limit) ? "bar full" : "bar"}
      viewBox="0 0 96 4"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="track" width="96" height="4" />
      <rect class="spent" width={spentPart * 96} height="4" />
      <rect class="held" x={spentPart * 96} width={heldPart * 96} height="4" />
    </svg>
  );
}

function LimitsOf({ caller: { limits = {} } }: { readonly caller: CallerRow }) {
  const { callers: text } = useMessages();
  const { requestsPerMinute, imagesPerMinute, concurrent } = limits;
  const shown = [
    requestsPerMinute && text.limitTexts.requestsPerMinute(requestsPerMinute),
    imagesPerMinute && text.limitTexts.imagesPerMinute(imagesPerMinute),
    concurrent && text.limitTexts.concurrent(concurrent),
  ].filter((part) => typeof part === "string");
  return <>{shown.join(" · ")}</>;
}

/** Shows a key, once. It closes only when the person says so. */
function NewKeyDialog({ created, onClose }: { readonly created: NewKey; readonly onClose: () => void }) {
  const { callers: text } = useMessages();
  return (
    <Dialog title={text.newKey(created.caller.id)} onClose={onClose}>
      <p>{text.newKeyHint}</p>
      <code class="key">{created.key}</code>
      <div class="actions">
        <CopyButton text={created.key} />
        <button type="button" class="button primary" onClick={onClose}>
          {text.keyCopied}
        </button>
      </div>
    </Dialog>
  );
}
