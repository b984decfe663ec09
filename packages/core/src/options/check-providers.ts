import type { Family } from "../families/family.js";
import { checkChannels, checkFamilies, checkSpellings } from "./check-models.js";
import { checkPrices } from "./check-prices.js";
import type { OptionsProblem, RelatedOptions } from "./options.js";
import type { FoundProblems } from "./problems.js";

/** Checks models, channels, rows and prices against each other, as far as each of them has the right type. */
export function* checkProviders(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
  isSound: FoundProblems["isSound"],
): Iterable<OptionsProblem> {
  if (options.caseInsensitiveNames === true && isSound("models", "channels", "billing")) {
    yield* checkSpellings(options);
  }
  if (!isSound("models", "channels", "families")) return;
  yield* checkFamilies(options, families, isSound("capabilities") ? options.capabilities : {});
  yield* checkChannels(options);
  if (isSound("billing")) yield* checkPrices(options, families);
}
