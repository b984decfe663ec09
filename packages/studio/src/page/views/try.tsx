import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { EstimateQuery, ModelEntry, Session } from "../../wire.js";
import { call } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { listConditions } from "../components/derivation.js";
import { Code, Failure, Loading } from "../components/feedback.js";
import { TextField } from "../components/field.js";
import { useNextFocus } from "../components/focus.js";
import { useUnits, withUnit } from "../currency.js";
import { formatAmount } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { addressOf, go } from "../router.js";
import { findStorage, readStored, writeStored } from "../settings.js";
import { CodePanel } from "../try/code-panel.js";
import { Composer } from "../try/composer.js";
import { type Draft, findUnsent, isSoundFurther, maxCountOf, toQuery } from "../try/draft.js";
import { addToHistory, clearHistory, readHistory } from "../try/history.js";
import { Results } from "../try/results.js";
import { readPixels } from "../try/sizes.js";
import type { Bench } from "../try/use-bench.js";
import { type Estimate, useEstimate } from "../try/use-estimate.js";
import { useData } from "../use-data.js";

/** Makes images as a caller would. A key that the person enters pays, or the caller of the studio. */
export function TryView({
  session,
  query,
  bench,
}: {
  readonly session: Session;
  readonly query: URLSearchParams;
  readonly bench: Bench;
}) {
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
        <Workbench session={session} apiKey={key} onKey={useKey} named={query.get("model")} bench={bench} />
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
  const line = useNextFocus<HTMLParagraphElement>();
  if (isAsking) {
    return (
      <KeyForm
        onKey={(key) => {
          setAsking(false);
          onKey(key);
        }}
        onCancel={() => setAsking(false)}
      />
    );
  }
  return (
    <p ref={line} class="soft small">
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

function KeyForm({
  onKey,
  onCancel,
}: {
  readonly onKey: (key: string) => void;
  /** If there is one, the form was opened by a button, and takes its focus. */
  readonly onCancel?: () => void;
}) {
  const { try: text, cancel } = useMessages();
  const [entered, setEntered] = useState("");
  const form = useNextFocus<HTMLFormElement>();
  const isAsked = onCancel !== undefined;
  useEffect(() => {
    if (isAsked) form.current?.querySelector("input")?.focus();
  }, [isAsked, form]);
  return (
    <form
      ref={form}
      class="actions key-form"
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
      {onCancel !== undefined && (
        <button type="button" class="button key-button" onClick={onCancel}>
          {cancel}
        </button>
      )}
    </form>
  );
}

function Workbench({ session, apiKey, onKey, named, bench }: KeyProps & Pick<BenchProps, "named" | "bench">) {
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
    <Composing session={session} apiKey={apiKey} models={data} named={named} bench={bench} />
  );
}

interface BenchProps extends Pick<KeyProps, "session" | "apiKey"> {
  readonly models: readonly ModelEntry[];
  /** The model of the address. */
  readonly named: string | null;
  readonly bench: Bench;
}

/** The address of an image in an estimate, which loads no image. */
const NO_IMAGE = "https://example.com/reference.png";

function Composing({ session, apiKey, models, named, bench }: BenchProps) {
  const { try: text } = useMessages();
  const [history, setHistory] = useState(readHistory);
  const results = useRef<HTMLElement>(null);
  const { groups, isRunning, start, stop } = bench;
  const draft = withKnownModels(bench.draft, models);
  const newest = groups[0]?.[0]?.id;
  const shown = useRef(newest);
  useEffect(() => {
    if (newest !== shown.current) showIfHidden(results.current);
    shown.current = newest;
  }, [newest]);
  const change = (part: Partial<Draft>): void => {
    bench.change(part);
    if (part.model !== undefined) go(addressOf("try", { model: part.model }), { replace: true });
  };
  useEffect(() => {
    const found = models.find(({ id }) => id === named)?.id;
    if (found !== undefined)
      bench.change({ model: found, ...(found === draft.compared && { compared: "" }) });
  }, [named, models]);
  const chosen = [draft.model, draft.compared].flatMap((id) => models.filter((model) => model.id === id));
  const [first, second] = chosen;
  const isSound = isSoundFurther(draft.further);
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
        // The further fields may have another number.
        const { n } = query.fields;
        const asked = typeof n === "number" ? Math.min(Math.max(1, n), maxCountOf(model)) : 1;
        return { model, query, asked, pixels: findPixels(query, estimates[index]) };
      }),
      apiKey,
    );
  };
  const baseUrl = `${location.origin}${session.gatewayPath}/v1`;
  return (
    <div class="try">
      <form
        class="composer"
        onSubmit={(event) => event.preventDefault()}
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
                notes={
                  model === second && first !== undefined ? writeDifferences(draft, first, second, text) : []
                }
                isAsked={isSound}
              />
            ))}
          </div>
          {/* One button, so that it keeps the focus. The second click of two would stop what the first has begun. */}
          <ActionButton
            class={isRunning ? "button" : "button primary"}
            isOff={!isRunning && !canStart}
            onPress={({ detail }) => {
              if (detail > 1) return;
              if (isRunning) stop();
              else submit();
            }}
          >
            {isRunning ? text.stop : text.make}
          </ActionButton>
        </div>
        {first !== undefined && isSound && (
          <CodePanel query={toQuery(clampCount(draft, first), first, () => NO_IMAGE)} baseUrl={baseUrl} />
        )}
        {history.length > 0 && (
          <History>
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
          </History>
        )}
      </form>
      <section ref={results} class="results" aria-label={text.results}>
        <Results groups={groups} />
      </section>
    </div>
  );
}

/** The draft, of which the models may be those of another key. */
function withKnownModels(draft: Draft, models: readonly ModelEntry[]): Draft {
  const isKnown = (name: string): boolean => models.some(({ id }) => id === name);
  const model = isKnown(draft.model) ? draft.model : (models[0]?.id ?? "");
  return {
    ...draft,
    model,
    compared: isKnown(draft.compared) && draft.compared !== model ? draft.compared : "",
  };
}

/** The newest run is at the top of the results: below the fields in a narrow window, or above the window after scrolling. */
function showIfHidden(element: HTMLElement | null): void {
  const { top = 0 } = element?.getBoundingClientRect() ?? {};
  if (top < 0 || top > innerHeight / 2) element?.scrollIntoView({ block: "start" });
}

/** The prompts of this browser. They go away when they are cleared. */
function History({ children }: { readonly children: ComponentChildren }) {
  const { try: text } = useMessages();
  const details = useNextFocus<HTMLDetailsElement>((leaving) =>
    leaving.closest("form")?.querySelector("textarea"),
  );
  return (
    <details ref={details}>
      <summary>{text.history}</summary>
      {children}
    </details>
  );
}

function clampCount(draft: Draft, model: ModelEntry): Draft {
  return { ...draft, count: Math.min(draft.count, maxCountOf(model)) };
}

/** The pixels that an image will have: those that the provider gets, or those of the request. */
function findPixels({ fields }: EstimateQuery, estimated: Estimate | undefined): string | undefined {
  const sizes = [estimated?.isOld === true ? undefined : estimated?.estimate?.size, fields["size"]];
  return sizes.find((size): size is string => typeof size === "string" && readPixels(size) !== undefined);
}

/** An estimate needs a prompt, also before the person has written one. */
function toAsked(draft: Draft, model: ModelEntry): EstimateQuery {
  const prompt = draft.prompt.trim() === "" ? "…" : draft.prompt;
  return toQuery({ ...clampCount(draft, model), prompt }, model, () => NO_IMAGE);
}

/** In what the request to the second model differs from what the fields show, which are those of the first. */
function writeDifferences(
  draft: Draft,
  first: ModelEntry,
  second: ModelEntry,
  text: Messages["try"],
): readonly string[] {
  const hidden = findUnsent(draft, first);
  const names = findUnsent(draft, second)
    .filter((name) => !hidden.includes(name))
    .map((name) => text[name]);
  const max = maxCountOf(second);
  const isFewer = Math.min(draft.count, maxCountOf(first)) > max;
  return [
    ...(names.length > 0 ? [text.notSent(names.join(", "))] : []),
    ...(isFewer ? [text.fewerImages(max)] : []),
  ];
}

function PriceOf({
  session,
  name,
  notes,
  estimate: { estimate, error, isOld = false },
  isAsked,
}: {
  readonly session: Session;
  readonly name: string | undefined;
  readonly estimate: Estimate;
  readonly notes: readonly string[];
  /** False while the fields cannot be sent. */
  readonly isAsked: boolean;
}) {
  const messages = useMessages();
  const { try: text } = messages;
  const { unit, unitOf } = useUnits();
  const label = name !== undefined && <span class="small soft of-model">{name} </span>;
  if (!session.hasPrices) return <p class="small soft">{text.priceFree}</p>;
  if (error !== undefined) {
    return (
      <p class="small wrap">
        {label}
        {error.param === undefined ? error.message : text.priceUnknown}
      </p>
    );
  }
  if (estimate?.charge === undefined || estimate.charge === null) {
    return (
      <p class="small soft">
        {label}
        {isAsked ? "…" : text.priceUnknown}
      </p>
    );
  }
  const { amount, derivation } = estimate.charge;
  return (
    <div aria-busy={isOld}>
      <p>
        {label}
        <span class="soft small">{text.atMost}</span>{" "}
        <strong>{withUnit(formatAmount(amount), unit ?? unitOf(estimate.model))}</strong>
      </p>
      {listConditions(derivation, amount, messages).map((condition) => (
        <p key={condition} class="small soft">
          {condition}
        </p>
      ))}
      {estimate.size !== undefined && <p class="small soft">{text.replacedSize(estimate.size)}</p>}
      {notes.length > 0 && <p class="small soft">{notes.join(" ")}</p>}
      {estimate.ignored.length > 0 && <p class="small soft">{text.ignored(estimate.ignored.join(", "))}</p>}
    </div>
  );
}
