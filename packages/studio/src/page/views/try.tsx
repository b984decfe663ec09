import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { EstimateQuery, ModelEntry, Session } from "../../wire.js";
import { call } from "../api.js";
import { Code, Failure, Loading } from "../components/feedback.js";
import { TextField } from "../components/field.js";
import { useMessages } from "../messages/index.js";
import { addressOf, go } from "../router.js";
import { findStorage, readStored, writeStored } from "../settings.js";
import { CodePanel } from "../try/code-panel.js";
import { Composer } from "../try/composer.js";
import { type Draft, EMPTY_DRAFT, maxCountOf, parseFurther, toQuery } from "../try/draft.js";
import { addToHistory, clearHistory, readHistory } from "../try/history.js";
import { Results } from "../try/results.js";
import { createRun, type Run, runRequest } from "../try/run.js";
import { readPixels } from "../try/sizes.js";
import { type Estimate, useEstimate } from "../try/use-estimate.js";
import { useData } from "../use-data.js";

/** Makes images as a caller would. A key that the person enters pays, or the caller of the studio. */
export function TryView({ session, query }: { readonly session: Session; readonly query: URLSearchParams }) {
  const messages = useMessages();
  const [key, setKey] = useState(() => readStored("key", findStorage("sessionStorage")) ?? undefined);
  const useKey = (entered: string | undefined): void => {
    setKey(entered);
    writeStored("key", entered, findStorage("sessionStorage"));
  };
  const pays = key !== undefined || session.tryCaller !== undefined;
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.try}</h1>
        {pays && <Payer session={session} apiKey={key} onKey={useKey} />}
      </div>
      {pays ? (
        <Workbench session={session} apiKey={key} onKey={useKey} named={query.get("model")} />
      ) : (
        <Disabled onKey={useKey} />
      )}
    </>
  );
}

/** What the parts of Try that know the key need. */
interface KeyProps {
  readonly session: Session;
  readonly apiKey: string | undefined;
  readonly onKey: (key: string | undefined) => void;
}

function Payer({ session, apiKey, onKey }: KeyProps) {
  const { try: text } = useMessages();
  const [isAsking, setAsking] = useState(false);
  if (isAsking) {
    return (
      <KeyForm
        onKey={(key) => {
          setAsking(false);
          onKey(key);
        }}
      />
    );
  }
  return (
    <p class="soft small">
      {apiKey !== undefined ? text.paysKey : text.paysCaller(session.tryCaller ?? "")}{" "}
      {apiKey !== undefined ? (
        <button type="button" class="button plain" onClick={() => onKey(undefined)}>
          {text.forgetKey}
        </button>
      ) : (
        <button type="button" class="button plain" onClick={() => setAsking(true)}>
          {text.changeKey}
        </button>
      )}
    </p>
  );
}

const CALLER_CODE = 'createStudio(gateway, { authorize, caller: "web-shop" })';

function Disabled({ onKey }: Pick<KeyProps, "onKey">) {
  const { try: text } = useMessages();
  return (
    <div class="empty">
      <p>
        <strong>{text.disabled}</strong>
      </p>
      <p>{text.disabledHint}</p>
      <KeyForm onKey={onKey} />
      <p class="soft">{text.disabledCode}</p>
      <Code code={CALLER_CODE} label={text.disabledCode} />
    </div>
  );
}

function KeyForm({ onKey }: { readonly onKey: (key: string) => void }) {
  const { try: text } = useMessages();
  const [entered, setEntered] = useState("");
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        if (entered.trim() !== "") onKey(entered.trim());
      }}
    >
      <TextField
        label={text.key}
        value={entered}
        onValue={setEntered}
        input={{ type: "password", autocomplete: "off", spellcheck: false, required: true }}
      />
      <button type="submit" class="button primary key-button">
        {text.useKey}
      </button>
    </form>
  );
}

function Workbench({ session, apiKey, onKey, named }: KeyProps & Pick<BenchProps, "named">) {
  const { data, error, reload } = useData(`models ${apiKey}`, async () => {
    const { data: models } = await call<{ data: readonly ModelEntry[] }>("models", { key: apiKey });
    return models.filter(({ capabilities }) => capabilities.operations.length > 0);
  });
  if (error !== undefined && data === undefined) {
    return (
      <div class="empty">
        <Failure error={error} onRetry={reload} />
        {error.status === 401 && <KeyForm onKey={onKey} />}
      </div>
    );
  }
  return data === undefined ? (
    <Loading />
  ) : (
    <Bench session={session} apiKey={apiKey} models={data} named={named} />
  );
}

interface BenchProps extends Pick<KeyProps, "session" | "apiKey"> {
  readonly models: readonly ModelEntry[];
  /** The model of the address. */
  readonly named: string | null;
}

/** The address of an image in an estimate, which loads no image. */
const NO_IMAGE = "https://example.com/reference.png";

function Bench({ session, apiKey, models, named }: BenchProps) {
  const { try: text } = useMessages();
  const [draft, setDraft] = useState<Draft>({ ...EMPTY_DRAFT, model: models[0]?.id ?? "" });
  const [history, setHistory] = useState(readHistory);
  const { groups, isRunning, start, stop } = useRuns(apiKey);
  const change = useCallback((part: Partial<Draft>) => {
    setDraft((old) => ({ ...old, ...part }));
    if (part.model !== undefined) go(addressOf("try", { model: part.model }), { replace: true });
  }, []);
  useEffect(() => {
    const found = models.find(({ id }) => id === named)?.id;
    if (found === undefined) return;
    setDraft((old) => ({ ...old, model: found, compared: old.compared === found ? "" : old.compared }));
  }, [named, models]);
  const chosen = [draft.model, draft.compared].flatMap((id) => models.filter((model) => model.id === id));
  const [first, second] = chosen;
  const isSound = parseFurther(draft.further) !== undefined;
  const ask = (model: ModelEntry | undefined): EstimateQuery | undefined =>
    model === undefined || !isSound ? undefined : toAsked(draft, model);
  const estimates = [useEstimate(ask(first), apiKey), useEstimate(ask(second), apiKey)];
  const error = estimates[0]?.error;
  const problemOf = (...params: readonly string[]): string | undefined =>
    error?.param !== undefined && params.some((param) => error.param?.split(/[.[]/)[0] === param)
      ? error.message
      : undefined;
  const canStart = draft.prompt.trim() !== "" && first !== undefined && isSound && !isRunning;
  const submit = (): void => {
    if (!canStart) return;
    setHistory(addToHistory(draft));
    start(
      chosen.map((model, index) => {
        const query = toQuery(clampCount(draft, model), model, ({ dataUrl }) => dataUrl);
        const asked = Math.min(draft.count, maxCountOf(model));
        return { model, query, asked, pixels: findPixels(query, estimates[index]) };
      }),
    );
  };
  const baseUrl = `${location.origin}${session.gatewayPath}/v1`;
  return (
    <div class="try">
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
        }}
      >
        <Composer models={models} draft={draft} onDraft={change} problemOf={problemOf} />
        <div class="price-line">
          <div class="price" role="status">
            {chosen.map((model, index) => (
              <PriceOf
                key={model.id}
                session={session}
                name={chosen.length > 1 ? model.id : undefined}
                estimate={estimates[index] ?? {}}
              />
            ))}
          </div>
          {/* The keys keep them two elements: if Stop became the submit button during its click, it would send a request. */}
          {isRunning ? (
            <button key="stop" type="button" class="button" onClick={stop}>
              {text.stop}
            </button>
          ) : (
            <button key="make" type="submit" class="button primary" disabled={!canStart}>
              {text.make}
            </button>
          )}
        </div>
        {first !== undefined && isSound && (
          <CodePanel query={toQuery(clampCount(draft, first), first, () => NO_IMAGE)} baseUrl={baseUrl} />
        )}
        {history.length > 0 && (
          <details>
            <summary>{text.history}</summary>
            <ol class="history">
              {history.map((past, index) => (
                <li key={index}>
                  <button
                    type="button"
                    class="button plain"
                    onClick={() =>
                      change({
                        ...past,
                        model: models.find(({ id }) => id === past.model)?.id ?? draft.model,
                      })
                    }
                  >
                    {past.prompt} <span class="small soft">{past.model}</span>
                  </button>
                </li>
              ))}
            </ol>
            <button
              type="button"
              class="button"
              onClick={() => {
                clearHistory();
                setHistory([]);
              }}
            >
              {text.clearHistory}
            </button>
          </details>
        )}
      </form>
      <section class="results" aria-label={text.results}>
        <Results groups={groups} />
      </section>
    </div>
  );
}

function clampCount(draft: Draft, model: ModelEntry): Draft {
  return { ...draft, count: Math.min(draft.count, maxCountOf(model)) };
}

/** The pixels that an image will have: those that the provider gets, or those of the request. */
function findPixels({ fields }: EstimateQuery, estimated: Estimate | undefined): string | undefined {
  const sizes = [estimated?.estimate?.size, fields["size"]];
  return sizes.find((size): size is string => typeof size === "string" && readPixels(size) !== undefined);
}

/** An estimate needs a prompt, also before the person has written one. */
function toAsked(draft: Draft, model: ModelEntry): EstimateQuery {
  const prompt = draft.prompt.trim() === "" ? "…" : draft.prompt;
  return toQuery({ ...clampCount(draft, model), prompt }, model, () => NO_IMAGE);
}

function PriceOf({
  session,
  name,
  estimate: { estimate, error },
}: {
  readonly session: Session;
  readonly name: string | undefined;
  readonly estimate: Estimate;
}) {
  const { try: text } = useMessages();
  const label = name !== undefined && <span class="small soft">{name} </span>;
  if (!session.hasPrices) return <p class="small soft">{text.priceFree}</p>;
  if (error !== undefined) {
    return (
      <p class="small wrap">
        {label}
        {error.param === undefined ? error.message : text.priceUnknown}
      </p>
    );
  }
  if (estimate?.charge === undefined || estimate.charge === null) return <p class="small soft">…</p>;
  return (
    <>
      <p>
        {label}
        <span class="soft small">{text.atMost}</span> <strong>{estimate.charge.amount}</strong>
      </p>
      {estimate.size !== undefined && <p class="small soft">{text.replacedSize(estimate.size)}</p>}
      {estimate.ignored.length > 0 && <p class="small soft">{text.ignored(estimate.ignored.join(", "))}</p>}
    </>
  );
}

interface Order {
  readonly model: ModelEntry;
  readonly query: EstimateQuery;
  readonly asked: number;
  readonly pixels: string | undefined;
}

const MAX_GROUPS = 10;

/** The runs of this page. Old ones are forgotten, with their images. */
function useRuns(key: string | undefined) {
  const [groups, setGroups] = useState<readonly (readonly Run[])[]>([]);
  const abort = useRef<AbortController | undefined>(undefined);
  const closed = useRef(new AbortController());
  const latest = useRef(groups);
  latest.current = groups;
  useEffect(
    () => () => {
      abort.current?.abort();
      closed.current.abort();
      forget(latest.current);
    },
    [],
  );
  const isRunning = useMemo(() => groups.flat().some(({ duration }) => duration === undefined), [groups]);
  const start = (orders: readonly Order[]): void => {
    const controller = new AbortController();
    abort.current = controller;
    const runs = orders.map(({ query, asked, pixels }) => createRun(query, asked, pixels));
    forget(latest.current.slice(MAX_GROUPS - 1));
    setGroups((old) => [runs, ...old.slice(0, MAX_GROUPS - 1)]);
    for (const [index, { model, query }] of orders.entries()) {
      const run = runs[index];
      if (run === undefined) continue;
      const onChange = (change: Partial<Run>): void =>
        setGroups((old) =>
          old.map((group) => group.map((each) => (each.id === run.id ? { ...each, ...change } : each))),
        );
      const { signal } = controller;
      void runRequest(run, query, { model, key, signal, closed: closed.current.signal, onChange });
    }
  };
  return { groups, isRunning, start, stop: () => abort.current?.abort() };
}

function forget(groups: readonly (readonly Run[])[]): void {
  for (const { images } of groups.flat()) for (const { url } of images) URL.revokeObjectURL(url);
}
