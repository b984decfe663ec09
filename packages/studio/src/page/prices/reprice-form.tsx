import { useEffect, useRef, useState } from "preact/hooks";
import type { PriceTables, RepriceResult } from "../../wire.js";
import type { ApiError } from "../api.js";
import { ActionButton } from "../components/action-button.js";
import { ActionFailure } from "../components/feedback.js";
import { AreaField, ChoiceField } from "../components/field.js";
import { useFocusOnProblem } from "../components/focus.js";
import { formatCount, formatTime } from "../format.js";
import { useMessages } from "../messages/index.js";
import { writeSpan } from "../usage/bucket-text.js";
import { toApiError } from "../use-data.js";
import { type RepriceProgress, reprice } from "./reprice.js";
import { RepriceResultView } from "./reprice-result.js";
import { goToPrices, type PriceSelection, REPRICE_PERIODS, toRange } from "./selection.js";

/** What a period would have cost under other prices. They are written as JSON, which begins with the prices in effect. */
export function RepriceForm({
  tables,
  selection,
}: {
  readonly tables: PriceTables;
  readonly selection: PriceSelection;
}) {
  const messages = useMessages();
  const { prices: text, language } = messages;
  const [row, setRow] = useState("");
  const [json, setJson] = useState(() => write(tables, ""));
  const [problem, setProblem] = useState<string>();
  const [error, setError] = useState<ApiError>();
  const [progress, setProgress] = useState<RepriceProgress>();
  const [computed, setComputed] = useState<{ readonly asked: string; readonly result: RepriceResult }>();
  const [now] = useState(Date.now);
  const form = useFocusOnProblem(problem);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const range = toRange(selection, now);
  const asked = JSON.stringify([range?.from, range?.to, row, json]);
  const fill = (name: string): void => {
    setRow(name);
    setJson(write(tables, name));
    setProblem(undefined);
    setError(undefined);
  };
  const compute = async (): Promise<void> => {
    setProblem(undefined);
    setError(undefined);
    setComputed(undefined);
    if (range === undefined) return setProblem(text.wrongPeriod);
    const other = read(tables, row, json);
    if (other === undefined) return setProblem(text.notJson);
    const controller = new AbortController();
    running.current = controller;
    setProgress({ records: 0, until: range.from });
    try {
      const { signal } = controller;
      const result = await reprice({ ...range, tables: other }, { signal, onProgress: setProgress });
      setComputed({ asked, result });
    } catch (cause) {
      if (!controller.signal.aborted) setError(toApiError(cause));
    }
    setProgress(undefined);
  };
  return (
    <section class="section reprice">
      <h2>{text.reprice}</h2>
      <p class="soft">{text.repriceHint}</p>
      <form
        ref={form}
        class="composer"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void compute();
        }}
      >
        <div class="actions">
          <div class="segments" role="group" aria-label={text.period}>
            {REPRICE_PERIODS.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={selection.period === name ? "true" : "false"}
                onClick={() => goToPrices({ ...selection, period: name })}
              >
                {text.periods[name]}
              </button>
            ))}
          </div>
          {range !== undefined && <span class="small soft">{writeSpan(range, language)}</span>}
        </div>
        {selection.period === "custom" && (
          <div class="row narrow">
            <TimeField
              label={text.from}
              value={selection.from}
              onValue={(from) => goToPrices({ ...selection, from })}
            />
            <TimeField
              label={text.to}
              value={selection.to}
              onValue={(to) => goToPrices({ ...selection, to })}
            />
          </div>
        )}
        <ChoiceField
          label={text.pricesOf}
          value={row}
          onValue={fill}
          choices={[
            ["", text.wholeTable],
            ...Object.keys(tables.model_details).map((name) => [name, name] as const),
          ]}
        />
        <AreaField
          label={text.otherPrices}
          hint={text.otherPricesHint}
          value={json}
          onValue={setJson}
          problem={problem}
          area={{ class: "mono", rows: Math.min(20, json.split("\n").length + 1), spellcheck: false }}
        />
        {error !== undefined && error.problems.length > 0 ? (
          <div class="notice bad" role="alert">
            <p>{text.wrongPrices}</p>
            <ul>
              {error.problems.map(({ path, message }) => (
                <li key={`${path} ${message}`} class="wrap">
                  <code>{path}</code> {message}
                </li>
              ))}
            </ul>
          </div>
        ) : (
          <ActionFailure error={error} />
        )}
        <div class="actions">
          <ActionButton type="submit" class="button primary" isOff={progress !== undefined}>
            {text.compute}
          </ActionButton>
          <ActionButton onPress={() => (progress === undefined ? fill(row) : running.current?.abort())}>
            {progress === undefined ? text.resetPrices : messages.try.stop}
          </ActionButton>
          <span role="status" class="small soft">
            {progress !== undefined &&
              text.progress(formatCount(progress.records, language), formatTime(progress.until, language))}
          </span>
        </div>
      </form>
      <div role="status">
        {computed !== undefined && (
          <>
            {computed.asked !== asked && <p class="notice">{text.oldResult}</p>}
            <RepriceResultView result={computed.result} />
          </>
        )}
      </div>
    </section>
  );
}

function TimeField({
  label,
  value,
  onValue,
}: {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
}) {
  return (
    <label class="field">
      <span class="small soft">{label}</span>
      <input
        type="datetime-local"
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    </label>
  );
}

/** The whole table, or the price of one row. */
function write(tables: PriceTables, row: string): string {
  return JSON.stringify(row === "" ? tables : tables.model_details[row], null, 2);
}

/** The tables with what the person wrote. Their fields are checked by the server. `undefined`: it is not JSON. */
function read(tables: PriceTables, row: string, json: string): PriceTables | undefined {
  try {
    const value = JSON.parse(json);
    return row === "" ? value : { ...tables, model_details: { ...tables.model_details, [row]: value } };
  } catch {
    return undefined;
  }
}
