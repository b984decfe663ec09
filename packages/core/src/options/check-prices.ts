import { isPerImage, type ModelDetails } from "../billing/model-details.js";
import { findDialect } from "../channels/channel.js";
import type { Dialect } from "../families/dialect.js";
import type { Family } from "../families/family.js";
import { formatPath } from "../util/parse-fields.js";
import { covers, createSeriesMap, isSeries, overlaps } from "../util/series.js";
import { serves } from "./check-models.js";
import type { OptionsProblem, RelatedOptions } from "./options.js";

/** Checks the prices against the models, and against what the families of the models report. */
export function* checkPrices(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
): Iterable<OptionsProblem> {
  const { billing, models } = options;
  if (billing === undefined) return;
  const details = createSeriesMap(billing.model_details);
  for (const model of Object.keys(models)) {
    // The names of a series get their prices during a call, because some may have their own prices.
    if (!isSeries(model) && details.find(model) === undefined) {
      const path = formatPath(["billing", "model_details", model]);
      yield { path, message: "is missing: the model has no price" };
    }
  }
  for (const price of Object.keys(billing.model_details)) {
    if (Object.keys(models).some((model) => overlaps(price, model))) continue;
    // A price under a misspelled name is worse than no price: its model would be charged by the price of a series.
    const path = formatPath(["billing", "model_details", price]);
    yield {
      path,
      message: "is a price without a model: no key of models has this name or belongs to this series",
    };
  }
  yield* checkPricesOfFamilies(billing.model_details, options, {
    path: ["billing", "model_details"],
    families,
  });
}

/** A price that a family cannot serve. */
interface FamilyRule {
  /** The option within the price, if it is not the price as a whole. */
  readonly option?: string;
  readonly isUsed: (details: ModelDetails) => boolean;
  readonly isServed: (family: Family, dialect: Dialect) => boolean;
  /** @param service the name of the family, or of the dialect of one of its channels */
  readonly describe: (model: string, service: string) => string;
}

const FAMILY_RULES: readonly FamilyRule[] = [
  {
    // Where no tokens are reported, a price by tokens would charge nothing for any image.
    isUsed: ({ pricing_mode }) => pricing_mode === "per-token",
    isServed: (_family, { reportsTokens }) => reportsTokens,
    describe: (model, service) => `must be per-request: it prices ${model}, and ${service} reports no tokens`,
  },
  {
    option: "image_prices",
    isUsed: (details) =>
      isPerImage(details) && details.image_prices.some(({ quality }) => quality !== undefined),
    // Each image would have the highest price of all qualities.
    isServed: ({ readsQuality = false }) => readsQuality,
    describe: (model, service) =>
      `must not depend on quality: it prices ${model}, and ${service} does not know the quality of an image`,
  },
];

/** Checks prices against what the families and dialects of channels report. `path` is that of the prices in the options. */
export function* checkPricesOfFamilies(
  details: Readonly<Record<string, ModelDetails>>,
  { models, channels }: Pick<RelatedOptions, "models" | "channels">,
  {
    path,
    families,
  }: { readonly path: readonly PropertyKey[]; readonly families: ReadonlyMap<string, Family> },
): Iterable<OptionsProblem> {
  const prices = Object.keys(details);
  const modelKeys = Object.keys(models);
  /** The models of a price, without those for which a narrower key wins. */
  const modelsOf = (price: string): readonly string[] =>
    modelKeys.filter(
      (key) =>
        overlaps(price, key) &&
        !prices.some((other) => isBetween(other, price, key)) &&
        !modelKeys.some((other) => isBetween(other, key, price)),
    );
  for (const [price, ofModel] of Object.entries(details)) {
    for (const { option, isUsed, isServed, describe } of FAMILY_RULES) {
      if (!isUsed(ofModel)) continue;
      /** The service of a model that this price does not fit. */
      const findService = (key: string): string | undefined => {
        const family = families.get(models[key]?.family ?? "");
        if (family === undefined) return undefined;
        const serving = channels.filter(
          (channel) => channel.family === family.name && serves(channel.modelMapping, key),
        );
        const wrong = serving.find(({ dialect }) => !isServed(family, findDialect(family, dialect)));
        return wrong && (wrong.dialect ?? family.name);
      };
      const [model, service] =
        modelsOf(price)
          .map((key) => [key, findService(key)] as const)
          .find(([, found]) => found !== undefined) ?? [];
      if (model === undefined || service === undefined) continue;
      const full = [...path, price, ...(option === undefined ? [] : [option])];
      yield { path: formatPath(full), message: describe(model, service) };
    }
  }
}

/** Whether a key is narrower than `wide` and still covers all of `narrow`. */
function isBetween(key: string, wide: string, narrow: string): boolean {
  return key !== wide && covers(wide, key) && covers(key, narrow);
}
