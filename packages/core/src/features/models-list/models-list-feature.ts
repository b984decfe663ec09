import { DEFAULT_GROUP } from "../../billing/model-details.js";
import { reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { describeModel, type ModelEntry } from "../../models/describe-model.js";
import { listModels } from "../../models/list-models.js";
import { mayUseModel, notFoundError, type ResolvedModel } from "../../models/resolve-model.js";
import { findPreferences } from "../../request/preferences.js";
import { checkMethod, type GatewayRoute } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import type { Caller } from "../../types.js";
import { isPromiseLike } from "../../util/async.js";
import type { JsonObject } from "../../util/json.js";
import { isSeries } from "../../util/series.js";

/** The options of {@link modelsList}. */
export interface ModelsListOptions {
  /** Whether models have their price for the caller's group. Needs `billing`. Default `false`. */
  readonly showPrices?: boolean | undefined;
}

/** `GET {base}/v1/models` and `GET {base}/v1/models/{id}`: what a caller may use, and what it can do. */
export function modelsList(options: ModelsListOptions = {}): Feature {
  return { name: "models-list", setup: () => ({ routes: (host) => [createModelsRoute(host, options)] }) };
}

/** A model and its description. */
interface ListedModel {
  readonly model: ResolvedModel;
  /** What does not depend on the caller. */
  readonly entry: ModelEntry;
}

/** The options of the moment, and all models with an exact name. */
interface ListSource {
  readonly configured: Configured;
  readonly showPrices: boolean;
  /** Computed once for a set of options. */
  readonly listModels: () => readonly ListedModel[];
}

/** The path of the list of models, or of one model. Its name may contain slashes. */
export const MODELS_PATH = /^(.*?)\/v1\/models(?:\/(.+))?$/;

/** The route of `GET /v1/models` and `GET /v1/models/{id}`. */
function createModelsRoute(
  { respondWithOptions }: RouteHost<Configured>,
  { showPrices = false }: ModelsListOptions,
): GatewayRoute {
  const lists = new WeakMap<Configured, readonly ListedModel[]>();
  const listOnce = (configured: Configured): readonly ListedModel[] => {
    const listed = lists.get(configured) ?? describeModels(configured);
    lists.set(configured, listed);
    return listed;
  };
  return {
    pattern: MODELS_PATH,
    respond: (request, [name]) =>
      respondWithOptions(request, (configured, id) => {
        const source = { configured, showPrices, listModels: () => listOnce(configured) };
        return respondWithModels(source, name === undefined ? undefined : decode(name), { request, id });
      }),
  };
}

function describeModels({ options, channels, resolveModel }: Configured): readonly ListedModel[] {
  const { models, billing, capabilities: rows = {} } = options;
  const priceNames = Object.keys(billing?.model_details ?? {});
  const listed = listModels({ models, channels, priceNames, rows }, resolveModel);
  return listed.map((model) => ({ model, entry: describeModel(model) }));
}

/** Decodes a name in a path. A name that is not encoded correctly stays as it is, and will not be found. */
function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * Responds to `GET /v1/models`, and to `GET /v1/models/{id}` if there is a name. Does not reject. Such a request counts in
 * no limit, and `onRequest` and `onError` do not get it.
 *
 * @param id the request's id
 */
async function respondWithModels(
  source: ListSource,
  name: string | undefined,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse> {
  try {
    checkMethod(request, "GET");
    const found = source.configured.authenticate(request);
    const caller = isPromiseLike(found) ? await found : found;
    const body = name === undefined ? listEntries(source, caller) : findEntry(source, caller, name);
    const headers = toResponseHeaders("application/json", { id, ignored: [] });
    return { status: 200, headers, body: JSON.stringify(body) };
  } catch (cause) {
    const { configured } = source;
    return renderError(reportRefusal(configured, cause, { id, request }), {
      id,
      redact: configured.redactKeys,
    });
  }
}

/** A model with its price, if prices are shown. */
interface PricedEntry extends ModelEntry {
  readonly price?: JsonObject;
}

function listEntries(source: ListSource, caller: Caller): object {
  const { options, prices } = source.configured;
  const mayUse = (name: string): boolean => mayUseModel(caller, name, options.caseInsensitiveNames ?? false);
  // Without a price, requests to the model are refused.
  const isPriced = (name: string): boolean =>
    prices === undefined || findPrice(source, caller, name) !== undefined;
  const usable = source.listModels().filter(({ model: { name } }) => mayUse(name) && isPriced(name));
  return { object: "list", data: usable.map((listed) => toEntry(source, caller, listed)) };
}

/** @throws GatewayError as for an image request: `model_not_found`, `model_not_allowed`, `model_not_priced`, `group_not_priced` */
function findEntry(source: ListSource, caller: Caller, name: string): PricedEntry {
  const { resolveModel, prices } = source.configured;
  // A series is not a model, although a request may have its name.
  if (isSeries(name)) throw notFoundError(name);
  const model = resolveModel(name, caller, "generate");
  prices?.find(model.name, caller.group ?? DEFAULT_GROUP);
  return toEntry(source, caller, { model, entry: describeModel(model) });
}

function toEntry(source: ListSource, caller: Caller, { model, entry }: ListedModel): PricedEntry {
  const { preferences: gateway } = source.configured;
  const price = source.showPrices ? findPrice(source, caller, model.name) : undefined;
  // With this format the gateway makes the stream itself if the model does not stream.
  const { streamFormat } = findPreferences({ caller, model: model.preferences, gateway });
  const stream = entry.capabilities.stream || streamFormat === "openai";
  return {
    ...entry,
    capabilities: { ...entry.capabilities, stream },
    ...(price !== undefined && { price }),
  };
}

function findPrice({ configured }: ListSource, { group }: Caller, name: string): JsonObject | undefined {
  return configured.prices?.show(name, group ?? DEFAULT_GROUP);
}
