import { useState } from "preact/hooks";
import type { CalculatedCharge, CalculateRequest, ModelDetails, PriceTables, PriceView } from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { Derivation } from "../components/derivation.js";
import { ActionFailure, Code, Failure, Loading } from "../components/feedback.js";
import { ChoiceField, TextField } from "../components/field.js";
import { formatCount } from "../format.js";
import { type Messages, useMessages } from "../messages/index.js";
import { toApiError, useData } from "../use-data.js";

const EXAMPLE = `billing: {
  model_details: { "seedream-4-5": { pricing_mode: "per-request", model_price: "0.25" } },
}`;

/** The prices that are in effect now, and what a request costs by them. */
export function PricesView() {
  const messages = useMessages();
  const { data, error, reload } = useData("prices", () => call<PriceView>("prices"));
  return (
    <>
      <div class="view-head">
        <h1>{messages.views.prices}</h1>
      </div>
      {data === undefined && error === undefined && <Loading />}
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {data?.tables === null && (
        <div class="empty">
          <p>{messages.prices.none}</p>
          <p class="soft">{messages.prices.noneHint}</p>
          <Code code={EXAMPLE} label={messages.prices.noneHint} />
        </div>
      )}
      {data !== undefined && data.tables !== null && <Prices tables={data.tables} />}
    </>
  );
}

function Prices({ tables }: { readonly tables: PriceTables }) {
  const messages = useMessages();
  const text = messages.prices;
  return (
    <div class="columns">
      <div>
        <div class="table-frame" tabIndex={0} role="group" aria-label={messages.views.prices}>
          <table>
            <thead>
              <tr>
                <th>{text.model}</th>
                <th>{text.mode}</th>
                <th>{text.price}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(tables.model_details).map(([model, details]) => (
                <tr key={model}>
                  <td class="wrap">{model}</td>
                  <td>{text.modes[details.pricing_mode]}</td>
                  <td>
                    {describePrice(details, messages).map((line) => (
                      <div key={line}>{line}</div>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <section class="section">
          <h2>{text.groups}</h2>
          <table>
            <thead>
              <tr>
                <th>{text.group}</th>
                <th class="number">{text.ratio}</th>
              </tr>
            </thead>
            <tbody>
              {Object.entries(tables.group_ratio ?? {}).map(([group, ratio]) => (
                <tr key={group}>
                  <td class="wrap">{group}</td>
                  <td class="number">{String(ratio)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </div>
      <Calculator tables={tables} />
    </div>
  );
}

/** The fields of a price in words, one line for each. */
function describePrice(details: ModelDetails, messages: Messages): readonly string[] {
  const { fields } = messages.prices;
  return Object.entries(details).flatMap(([name, value]) => {
    const unit = fields[name];
    if (unit === undefined || value === undefined) return [];
    return [`${Array.isArray(value) ? describeTiers(value, messages) : String(value)} ${unit}`];
  });
}

interface Tier {
  readonly up_to_pixels?: number;
  readonly price: unknown;
  readonly quality?: string;
}

function describeTiers(tiers: readonly Tier[], { prices: { tiers: text }, language }: Messages): string {
  return tiers
    .map(({ up_to_pixels, price, quality }) => {
      const amount = String(price);
      const shown =
        up_to_pixels === undefined
          ? tiers.length === 1
            ? amount
            : text.above(amount)
          : text.upTo(formatCount(up_to_pixels, language), amount);
      return quality === undefined ? shown : text.quality(quality, shown);
    })
    .join(", ");
}

function Calculator({ tables }: { readonly tables: PriceTables }) {
  const messages = useMessages();
  const text = messages.prices;
  const models = Object.keys(tables.model_details);
  const groups = Object.keys(tables.group_ratio ?? {});
  const [form, setForm] = useState({
    model: models[0] ?? "",
    group: groups.includes("default") ? "default" : (groups[0] ?? ""),
    images: "1",
    size: "",
    quality: "",
    outputTokens: "",
    totalTokens: "",
    referenceImages: "",
  });
  const [result, setResult] = useState<CalculatedCharge>();
  const [error, setError] = useState<ApiError>();
  const set = (name: keyof typeof form) => (value: string) => setForm((old) => ({ ...old, [name]: value }));
  const details = tables.model_details[form.model];
  const isByToken = details?.pricing_mode === "per-token";
  const isBySize = details !== undefined && "image_prices" in details;
  const calculate = async (): Promise<void> => {
    setError(undefined);
    try {
      const body = toRequest(form, { isByToken, isBySize });
      setResult(await call<CalculatedCharge>("prices/calculate", { method: "POST", body }));
    } catch (cause) {
      setResult(undefined);
      setError(toApiError(cause));
    }
  };
  const whole = { inputMode: "numeric" } as const;
  return (
    <section>
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          void calculate();
        }}
      >
        <h2>{text.calculator}</h2>
        <p class="soft">{text.calculatorHint}</p>
        <ChoiceField
          label={text.model}
          value={form.model}
          onValue={set("model")}
          choices={choicesOf(models)}
        />
        <div class="row">
          <ChoiceField
            label={text.group}
            value={form.group}
            onValue={set("group")}
            choices={choicesOf(groups)}
          />
          <TextField label={text.images} value={form.images} onValue={set("images")} input={whole} />
        </div>
        {isBySize && (
          <div class="row">
            <TextField
              label={text.size}
              value={form.size}
              onValue={set("size")}
              input={{ placeholder: "2048x2048" }}
            />
            <TextField label={text.quality} value={form.quality} onValue={set("quality")} />
            <TextField
              label={text.referenceImages}
              value={form.referenceImages}
              onValue={set("referenceImages")}
              input={whole}
            />
          </div>
        )}
        {isByToken && (
          <div class="row">
            <TextField
              label={text.outputTokens}
              value={form.outputTokens}
              onValue={set("outputTokens")}
              input={whole}
            />
            <TextField
              label={text.totalTokens}
              value={form.totalTokens}
              onValue={set("totalTokens")}
              input={whole}
            />
          </div>
        )}
        <div class="actions">
          <button type="submit" class="button primary">
            {text.calculate}
          </button>
        </div>
        <ActionFailure error={error} />
        <div role="status">
          {result !== undefined && (
            <>
              <p class="price">
                {text.costs} <strong>{result.amount}</strong>
              </p>
              <Derivation derivation={result.derivation} />
            </>
          )}
        </div>
      </form>
    </section>
  );
}

function choicesOf(names: readonly string[]): readonly (readonly [string, string])[] {
  return names.map((name) => [name, name]);
}

function toRequest(
  form: Readonly<Record<keyof CalculateRequest, string>>,
  { isByToken, isBySize }: { readonly isByToken: boolean; readonly isBySize: boolean },
): CalculateRequest {
  const { model, group, images, size, quality, outputTokens, totalTokens, referenceImages } = form;
  return {
    model,
    group,
    images: Number(images),
    ...(isBySize && size !== "" && { size }),
    ...(isBySize && quality !== "" && { quality }),
    ...(isBySize && referenceImages !== "" && { referenceImages: Number(referenceImages) }),
    ...(isByToken && outputTokens !== "" && { outputTokens: Number(outputTokens) }),
    ...(isByToken && totalTokens !== "" && { totalTokens: Number(totalTokens) }),
  };
}
