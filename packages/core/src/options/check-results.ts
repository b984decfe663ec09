import { chooseUrls, DEFAULT_TTL_SECONDS, type ResultsOptions } from "../features/results/results-options.js";
import type { ResultStore } from "../features/results/store.js";
import type { GatewayOptions, OptionsProblem } from "./options.js";

/** `afterImage` runs before an image is stored, so that every form of response can wait for it. */
export function* checkAfterImage({
  afterImage,
  results,
}: Pick<GatewayOptions, "afterImage" | "results">): Iterable<OptionsProblem> {
  if (afterImage === undefined || results !== undefined) return;
  yield { path: "afterImage", message: "needs results: images that are not stored do not pass through it" };
}

/** Checks that the store can do what the other options of `results` need. The types were checked before. */
export function* checkResults(results: ResultsOptions | undefined): Iterable<OptionsProblem> {
  if (results === undefined) return;
  const { store } = results;
  const urls = chooseUrls(results);
  if (typeof store === "function") {
    if (urls === "gateway") {
      const message = 'must not be "gateway" if the store is a function: the function returns the links';
      yield { path: "results.urls", message };
    }
  } else if (urls === "store") yield* checkStoreLinks(store, results);
  else yield* checkServing(store, results);
}

function* checkStoreLinks(
  store: ResultStore,
  { ttlSeconds = DEFAULT_TTL_SECONDS }: ResultsOptions,
): Iterable<OptionsProblem> {
  const { maxLinkSeconds = Infinity } = store;
  if (store.link === undefined) {
    yield { path: "results.urls", message: 'must not be "store": this store makes no links' };
  } else if (ttlSeconds > maxLinkSeconds) {
    const message = `must be at most ${maxLinkSeconds}: links of this store are not valid for longer (${ttlSeconds} s)`;
    yield { path: "results.ttlSeconds", message };
  }
}

function* checkServing(store: ResultStore, { urls, secrets }: ResultsOptions): Iterable<OptionsProblem> {
  if (store.open === undefined) {
    yield urls === undefined
      ? { path: "results.store", message: "must have link or open: clients could not read the images" }
      : { path: "results.urls", message: 'must not be "gateway": this store has no function open' };
  } else if (secrets === undefined && store.readSecrets === undefined) {
    const message = "is missing: the gateway signs links with it, and this store keeps no secret of its own";
    yield { path: "results.secrets", message };
  }
}
