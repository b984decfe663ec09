import type { ModelDetails } from "../../billing/model-details.js";
import type { ChannelCosts } from "../../billing/outcome.js";
import { type ChannelOptions, findDialect } from "../../channels/channel.js";
import type { Family } from "../../families/family.js";
import type { Feature } from "../../kernel/feature.js";
import { serves } from "../../options/check-models.js";
import { checkPricesOfFamilies } from "../../options/check-prices.js";
import type { OptionsProblem, RelatedOptions } from "../../options/options.js";
import { checkFeatureOptions, findTypeProblems, throwProblems } from "../../options/problems.js";
import { formatPath } from "../../util/parse-fields.js";
import { overlaps } from "../../util/series.js";
import { createPricedCosts, REPORTED_COSTS } from "./channel-costs.js";
import { channelSchema, costsSchema } from "./costs-schema.js";
import { type CostsOptions, createCostRanking } from "./rank-by-cost.js";

/** What requests cost the operator, for channels with `costs`. */
export function costs(options: CostsOptions = {}): Feature {
  return {
    name: "costs",
    setup() {
      checkFeatureOptions(costsSchema, options);
      return { readCosts, ...(options.routing === "cost" && { rankChannels: createCostRanking() }) };
    },
  };
}

/** @throws GatewayOptionsError for costs that cannot be used, and of models that the channel does not serve */
function readCosts(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
): readonly (ChannelCosts | undefined)[] {
  throwProblems(
    options.channels.flatMap((channel, index) => [...findProblems(channel, index, { options, families })]),
  );
  return options.channels.map(({ costs: given }) => {
    if (given === undefined) return undefined;
    return given === "reported" ? REPORTED_COSTS : createPricedCosts(given);
  });
}

interface Configuration {
  readonly options: RelatedOptions;
  readonly families: ReadonlyMap<string, Family>;
}

function* findProblems(
  channel: ChannelOptions,
  index: number,
  { options, families }: Configuration,
): Iterable<OptionsProblem> {
  const { costs: given } = channel;
  const family = families.get(channel.family);
  const path = ["channels", index, "costs"];
  if (given === undefined || family === undefined) return;
  if (given === "reported") {
    if (findDialect(family, channel.dialect).reportsCost === true) return;
    const service = channel.dialect ?? family.name;
    yield { path: formatPath(path), message: `must have prices: ${service} does not report what it charges` };
    return;
  }
  const { problems } = findTypeProblems(channelSchema, { costs: given });
  for (const { path: inChannel, message } of problems) {
    yield { path: `${formatPath(path.slice(0, -1))}.${inChannel}`, message };
  }
  if (problems.length === 0) yield* checkModels(given, channel, { path, options, families });
}

/** A cost under a misspelled name would be no cost. */
function* checkModels(
  given: Readonly<Record<string, ModelDetails>>,
  channel: ChannelOptions,
  { path, options, families }: Configuration & { readonly path: readonly PropertyKey[] },
): Iterable<OptionsProblem> {
  const served = Object.entries(options.models)
    .filter(([model, { family }]) => family === channel.family && serves(channel.modelMapping, model))
    .map(([model]) => model);
  for (const model of Object.keys(given)) {
    if (served.some((key) => overlaps(model, key))) continue;
    yield {
      path: formatPath([...path, model]),
      message:
        "is a cost without a model: the channel serves no key of models with this name or of this series",
    };
  }
  yield* checkPricesOfFamilies(given, { models: options.models, channels: [channel] }, { path, families });
}
