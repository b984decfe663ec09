import { useState } from "preact/hooks";
import type { CallerHistory, CallerRow, NewKey } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { Dialog } from "../components/dialog.js";
import { ActionFailure, ErrorText } from "../components/feedback.js";
import { ChoiceField } from "../components/field.js";
import { Panel } from "../components/panel.js";
import { formatTime } from "../format.js";
import { useMessages } from "../messages/index.js";
import { toApiError, useData } from "../use-data.js";
import { CallerForm } from "./caller-form.js";

/** What the panel of a caller may do. */
export interface CallerPanelProps {
  readonly caller: CallerRow;
  readonly isAdmin: boolean;
  readonly onClose: () => void;
  readonly onChanged: () => void;
  readonly onNewKey: (created: NewKey) => void;
}

/** The details of a caller beside the list, its keys, what can be done with it, and its last changes. */
export function CallerPanel({ caller, isAdmin, onClose, onChanged, onNewKey }: CallerPanelProps) {
  const { callers: text } = useMessages();
  const [open, setOpen] = useState<"change" | "rotate" | "revoke">();
  const isStored = caller.state !== "fixed";
  const done = (): void => {
    setOpen(undefined);
    onChanged();
  };
  return (
    <Panel label={text.details(caller.id)} title={caller.id} onClose={onClose}>
      {caller.problem !== undefined && <p class="notice bad">{caller.problem}</p>}
      <CallerFacts caller={caller} />
      {!isStored && <p class="soft">{text.fixedHint}</p>}
      {isAdmin && isStored && caller.state !== "revoked" && (
        <div class="actions">
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
        </div>
      )}
      {isStored && <History caller={caller} />}
      {open === "change" && (
        <CallerForm caller={caller} onClose={() => setOpen(undefined)} onChanged={done} />
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
        <RevokeDialog id={caller.id} onClose={() => setOpen(undefined)} onRevoked={done} />
      )}
    </Panel>
  );
}

function CallerFacts({ caller }: { readonly caller: CallerRow }) {
  const { callers: text, language } = useMessages();
  const { group, models, expiresAt, keys, createdAt, limits = {} } = caller;
  const limitOf = (value: number | null | undefined): string =>
    value === null ? text.noBudgetShort : value === undefined ? "–" : String(value);
  return (
    <dl class="facts">
      <dt>{text.group}</dt>
      <dd>{group ?? "default"}</dd>
      <dt>{text.models}</dt>
      <dd>{models?.join(", ") ?? text.allModels}</dd>
      <dt>{text.requestsPerMinute}</dt>
      <dd>{limitOf(limits.requestsPerMinute)}</dd>
      <dt>{text.imagesPerMinute}</dt>
      <dd>{limitOf(limits.imagesPerMinute)}</dd>
      <dt>{text.concurrent}</dt>
      <dd>{limitOf(limits.concurrent)}</dd>
      <dt>{text.expires}</dt>
      <dd>{typeof expiresAt === "string" ? formatTime(expiresAt, language) : text.never}</dd>
      {createdAt !== undefined && (
        <>
          <dt>{text.created}</dt>
          <dd>{formatTime(createdAt, language)}</dd>
        </>
      )}
      {keys !== undefined && keys.length > 0 && (
        <>
          <dt>{text.keys}</dt>
          <dd>
            <ul>
              {keys.map((key) => (
                <li key={key.createdAt + key.hint}>
                  <code>{key.hint}</code>{" "}
                  {key.endsAt !== undefined && (
                    <span class="small soft">{text.keyEnds(formatTime(key.endsAt, language))}</span>
                  )}
                </li>
              ))}
            </ul>
          </dd>
        </>
      )}
    </dl>
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
              {line.fields.length > 0 && ` · ${line.fields.map(({ field }) => field).join(", ")}`}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
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
        <button type="button" class="button primary" disabled={isBusy} onClick={run}>
          {text.rotateStart}
        </button>
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
  return (
    <Dialog title={text.revokeTitle(id)} onClose={onClose}>
      <p>{text.revokeHint}</p>
      <ActionFailure error={error} />
      <div class="actions">
        <button type="button" class="button danger" disabled={isBusy} onClick={run}>
          {text.revoke}
        </button>
        <button type="button" class="button" onClick={onClose}>
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
