import { useState } from "preact/hooks";
import type {
  CalculatedCharge,
  CalculateRequest,
  ModelDetails,
  ModelEntry,
  PriceTables,
  PriceView,
} from "../../wire.js";
import { type ApiError, call } from "../api.js";
import { Derivation } from "../components/derivation.js";
import { ActionFailure } from "../components/feedback.js";
import { ChoiceField, TextField } from "../components/field.js";
import { useFocusOnProblem } from "../components/focus.js";
import { formatAmount } from "../format.js";
import { useMessages } from "../messages/index.js";
import { findSizeChoices, readPixels } from "../try/sizes.js";
import { toApiError } from "../use-data.js";

/** The tokens that a price can count, in the order of the form. A kind without a price of its own is left out. */
const TOKEN_FIELDS = [
  ["output_tokens", undefined],
  ["total_tokens", undefined],
  ["output_image_tokens", "output_image_token_price"],
  ["output_text_tokens", "output_text_token_price"],
  ["input_text_tokens", "input_text_token_price"],
  ["input_image_tokens", "input_image_token_price"],
  ["cached_input_tokens", "cached_input_token_price"],
] as const;

/** What a person has written, by the name of the field. */
type Fields = Readonly<Record<string, string>>;

/** What a request costs by the prices in effect. The fields are those that the price and the model have. */
export function Calculator({
  view,
  tables,
  model: chosen,
  onModel,
}: {
  readonly view: PriceView;
  readonly tables: PriceTables;
  readonly model: string | undefined;
  readonly onModel: (model: string) => void;
}) {
  const messages = useMessages();
  const text = messages.prices;
  const models = listPriced(view, tables);
  const model = chosen !== undefined && models.includes(chosen) ? chosen : (models[0] ?? "");
  const groups = Object.keys(tables.group_ratio ?? {});
  const [fields, setFields] = useState<Fields>({
    group: groups.includes("default") ? "default" : (groups[0] ?? ""),
    images: "1",
  });
  const [result, setResult] = useState<{ readonly asked: string; readonly charge: CalculatedCharge }>();
  const [error, setError] = useState<ApiError>();
  const form = useFocusOnProblem(error);
  const details = findDetails(tables, model);
  const capabilities = view.models.find(({ id }) => id === model)?.capabilities;
  const set =
    (name: string) =>
    (value: string): void =>
      setFields((old) => ({ ...old, [name]: value }));
  const body = toRequest(model, details, fields);
  // A charge is shown only beside the fields that it was computed from.
  const asked = JSON.stringify(body);
  const charge = result?.asked === asked ? result.charge : undefined;
  const calculate = async (): Promise<void> => {
    setError(undefined);
    try {
      const computed = await call<CalculatedCharge>("prices/calculate", { method: "POST", body });
      setResult({ asked, charge: computed });
    } catch (cause) {
      setResult(undefined);
      setError(toApiError(cause));
    }
  };
  const field = (name: string, label: string, hint?: string) => (
    <TextField
      key={name}
      label={label}
      hint={hint}
      value={fields[name] ?? ""}
      onValue={set(name)}
      problem={error?.param === name ? error.message : undefined}
      input={{ inputMode: "numeric" }}
    />
  );
  return (
    <section>
      <form
        ref={form}
        class="composer"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void calculate();
        }}
      >
        <h2>{text.calculator}</h2>
        <p class="soft">{text.calculatorHint}</p>
        <ChoiceField
          label={text.model}
          value={model}
          onValue={(next) => {
            setResult(undefined);
            setError(undefined);
            setFields(({ group = "", images = "1" }) => ({ group, images }));
            onModel(next);
          }}
          choices={models.map((name) => [name, name])}
        />
        <div class="row">
          {groups.length > 1 && (
            <ChoiceField
              label={text.group}
              value={fields["group"] ?? ""}
              onValue={set("group")}
              choices={groups.map((name) => [name, name])}
            />
          )}
          {field(
            "images",
            text.images,
            capabilities?.max_images ? text.atMost(capabilities.max_images) : undefined,
          )}
        </div>
        {details !== undefined && "image_prices" in details && (
          <div class="row">
            <Size model={capabilities} value={fields["size"] ?? ""} onValue={set("size")} />
            <Quality
              model={capabilities}
              details={details}
              value={fields["quality"] ?? ""}
              onValue={set("quality")}
            />
            {details.layer_price !== undefined && field("layers", text.layers)}
            {details.reference_image_price !== undefined &&
              field(
                "referenceImages",
                text.referenceImages,
                capabilities?.references ? text.atMost(capabilities.references.max) : undefined,
              )}
          </div>
        )}
        {details?.pricing_mode === "per-token" && (
          <div class="row">
            {TOKEN_FIELDS.filter(([, price]) => price === undefined || price in details).map(([name]) =>
              field(name, text.tokens[name]),
            )}
          </div>
        )}
        <div class="actions">
          <button type="submit" class="button primary">
            {text.calculate}
          </button>
        </div>
        <ActionFailure error={error} />
        <div role="status">
          {charge !== undefined && isWithoutTokens(charge) && <p>{text.enterTokens}</p>}
          {charge !== undefined && !isWithoutTokens(charge) && (
            <>
              <p class="price">
                {text.costs} <strong>{formatAmount(charge.amount)}</strong>
              </p>
              <Derivation derivation={charge.derivation} amount={charge.amount} />
            </>
          )}
        </div>
      </form>
    </section>
  );
}

/** Whether a price by token was computed without any: it is not 0, but unknown. */
function isWithoutTokens({ derivation }: CalculatedCharge): boolean {
  return "unpriced" in derivation && derivation.unpriced;
}

interface ChoiceProps {
  readonly model: ModelEntry["capabilities"] | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** The sizes that the model makes. Free text if they are not known. */
function Size({ model, value, onValue }: ChoiceProps) {
  const { prices: text } = useMessages();
  const sizes = model === undefined ? [] : listSizes(model);
  if (sizes.length === 0) {
    return (
      <TextField label={text.size} value={value} onValue={onValue} input={{ placeholder: "2048x2048" }} />
    );
  }
  return (
    <ChoiceField
      label={text.size}
      value={value}
      onValue={onValue}
      choices={[["", text.unknownSize], ...sizes]}
    />
  );
}

/** The qualities of the model, or else those that have prices. */
function Quality({ model, details, value, onValue }: ChoiceProps & { readonly details: ModelDetails }) {
  const { prices: text } = useMessages();
  const priced =
    "image_prices" in details ? details.image_prices.flatMap(({ quality }) => quality ?? []) : [];
  if (priced.length === 0) return null;
  const qualities = [...new Set([...(model?.qualities ?? []), ...priced])];
  return (
    <ChoiceField
      label={text.quality}
      value={value}
      onValue={onValue}
      choices={[["", text.unknownQuality], ...qualities.map((name) => [name, name] as const)]}
    />
  );
}

/** Sizes in pixels with their aspects, the smallest first. */
function listSizes({ sizes }: ModelEntry["capabilities"]): readonly (readonly [string, string])[] {
  const choices = sizes === null ? undefined : findSizeChoices(sizes);
  if (choices === undefined) return [];
  const found = new Map<string, string>();
  for (const aspect of choices.aspects) {
    for (const resolution of choices.resolutionsOf(aspect)) {
      const size = choices.toSize({ aspect, resolution });
      if (size !== undefined && readPixels(size) !== undefined && !found.has(size)) {
        found.set(size, `${size.replace("x", " × ")} · ${aspect}`);
      }
    }
  }
  return [...found].toSorted(([one], [other]) => pixelsOf(one) - pixelsOf(other));
}

function pixelsOf(size: string): number {
  const [width, height] = readPixels(size) ?? [0, 0];
  return width * height;
}

/** The models that have a price, and the rows of series to which no listed model belongs. */
function listPriced({ models }: PriceView, { model_details }: PriceTables): readonly string[] {
  const names = models.map(({ id }) => id).filter((id) => findDetails({ model_details }, id) !== undefined);
  const rows = Object.keys(model_details).filter((row) => !names.some((name) => isOfRow(row, name)));
  return [...names, ...rows];
}

/** The price of a model: of its name, or of the longest series that it belongs to. */
function findDetails({ model_details }: PriceTables, model: string): ModelDetails | undefined {
  const row = Object.keys(model_details)
    .filter((name) => isOfRow(name, model))
    .toSorted(
      (one, other) => Number(other === model) - Number(one === model) || other.length - one.length,
    )[0];
  return row === undefined ? undefined : model_details[row];
}

function isOfRow(row: string, model: string): boolean {
  return row === model || (row.endsWith("*") && model.startsWith(row.slice(0, -1)));
}

/** Empty fields are left out. What is not a number stays as it is, so that the server says which field is wrong. */
function toRequest(model: string, details: ModelDetails | undefined, fields: Fields): object {
  const numberOf = (name: string): number | string | undefined => {
    const written = fields[name]?.trim() ?? "";
    if (written === "") return undefined;
    return /^\d{1,15}$/.test(written) ? Number(written) : written;
  };
  const tokens = TOKEN_FIELDS.map(([name]) => [name, numberOf(name)] as const).filter(
    ([, count]) => count !== undefined,
  );
  const { group, size, quality } = fields;
  const isByToken = details?.pricing_mode === "per-token";
  const request: Readonly<Record<keyof CalculateRequest, unknown>> = {
    model,
    group: group === "" ? undefined : group,
    images: numberOf("images") ?? 0,
    size: size === "" ? undefined : size,
    quality: quality === "" ? undefined : quality,
    layers: numberOf("layers"),
    referenceImages: numberOf("referenceImages"),
    tokens: isByToken ? Object.fromEntries(tokens) : undefined,
  };
  return request;
}
