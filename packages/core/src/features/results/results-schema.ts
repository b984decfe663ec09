import * as z from "zod/mini";
import { hasFunctions } from "../../billing/ledger-ability.js";
import { isChannelUrl } from "../../options/channel-schema.js";
import type { OptionsProblem } from "../../options/options.js";
import { boolean, seconds, whole } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";
import {
  chooseUrls,
  DEFAULT_TTL_SECONDS,
  MIN_SECRET_LENGTH,
  type ResultsOptions,
} from "./results-options.js";
import type { ResultStore } from "./store.js";

const STORE = "must be a store with put, or a function";

const SECRETS = "must be a list of secrets";

const SECRET = `must be a string of at least ${MIN_SECRET_LENGTH} characters; is the environment variable set?`;

/** Ten years. */
const MAX_TTL_SECONDS = 315_360_000;

/** The schema of {@link ResultsOptions}. */
export const resultsSchema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      store: z.custom<never>((value) => typeof value === "function" || hasFunctions(value, ["put"]), STORE),
      urls: z.optional(z.literal(["store", "gateway"], 'must be "store" or "gateway"')),
      ttlSeconds: z.optional(
        whole(1).check(z.maximum(MAX_TTL_SECONDS, `must be at most ${MAX_TTL_SECONDS}, ten years`)),
      ),
      timeoutSeconds: seconds,
      publicUrl: z.optional(
        z
          .string("must be a string")
          .check(
            z.refine(isBaseUrl, "must be an http or https address without query, fragment and credentials"),
          ),
      ),
      secrets: z.optional(
        z
          .array(z.string(SECRET).check(z.minLength(MIN_SECRET_LENGTH, SECRET)), SECRETS)
          .check(z.minLength(1, "must contain at least one secret")),
      ),
      native: boolean,
    } satisfies Fields<ResultsOptions>,
    "must be an object with store",
  ))();

function isBaseUrl(value: string): boolean {
  return isChannelUrl(value) && new URL(value).search === "";
}

/**
 * Checks that the store can do what the other options of `results` need. `afterImage` runs before an image is stored, so that every
 * form of response can wait for it. The types were checked before.
 */
export function* checkResults({
  afterImage,
  results,
}: {
  readonly afterImage?: unknown;
  readonly results?: ResultsOptions | undefined;
}): Iterable<OptionsProblem> {
  if (results === undefined) {
    const message = "needs results: images that are not stored do not pass through it";
    if (afterImage !== undefined) yield { path: "afterImage", message };
    return;
  }
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
