import type { Authenticator } from "../../auth/authenticate.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import type { PriceList } from "../../billing/pricing.js";
import { type RefusalParts, reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { describeModel, type ModelEntry } from "../../models/describe-model.js";
import { type ModelResolver, notFoundError, type ResolvedModel } from "../../models/resolve-model.js";
import type { Redaction } from "../../redact.js";
import { findPreferences } from "../../request/preferences.js";
import { checkMethod, type GatewayRoute } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import type { Caller, Preferences } from "../../types.js";
import { isPromiseLike } from "../../util/async.js";
import type { JsonObject } from "../../util/json.js";
import { isSeries } from "../../util/series.js";

/** A model and its description. */
interface ListedModel {
  readonly model: ResolvedModel;
  /** What does not depend on the caller. */
  readonly entry: ModelEntry;
}

/** Describes models for {@link ModelsParts.listModels}. */
export function describeModels(models: readonly ResolvedModel[]): readonly ListedModel[] {
  return models.map((model) => ({ model, entry: describeModel(model) }));
}

/** What the list of models needs of the gateway. */
export interface ModelsParts extends RefusalParts {
  readonly authenticate: Authenticator;
  readonly resolveModel: ModelResolver;
  /** Returns all models with an exact name. Computed once for a set of options. */
  readonly listModels: () => readonly ListedModel[];
  readonly mayUseModel: (caller: Caller, name: string) => boolean;
  readonly prices: PriceList | undefined;
  readonly showPrices: boolean;
  /** The preferences of the gateway. */
  readonly preferences: Preferences;
  readonly redactKeys: Redaction;
}

/** The path of the list of models, or of one model. Its name may contain slashes. */
export const MODELS_PATH = /^(.*?)\/v1\/models(?:\/(.+))?$/;

/** The route of `GET /v1/models` and `GET /v1/models/{id}`. */
export function createModelsRoute({ respondWithOptions }: RouteHost<ModelsParts>): GatewayRoute {
  return {
    pattern: MODELS_PATH,
    respond: (request, [name]) =>
      respondWithOptions(request, (parts, id) =>
        respondWithModels(parts, name === undefined ? undefined : decode(name), { request, id }),
      ),
  };
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
  parts: ModelsParts,
  name: string | undefined,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse> {
  try {
    checkMethod(request, "GET");
    const found = parts.authenticate(request);
    const caller = isPromiseLike(found) ? await found : found;
    const body = name === undefined ? listEntries(parts, caller) : findEntry(parts, caller, name);
    const headers = toResponseHeaders("application/json", { id, ignored: [] });
    return { status: 200, headers, body: JSON.stringify(body) };
  } catch (cause) {
    return renderError(reportRefusal(parts, cause, { id, request }), { id, redact: parts.redactKeys });
  }
}

/** A model with its price, if prices are shown. */
interface PricedEntry extends ModelEntry {
  readonly price?: JsonObject;
}

function listEntries(parts: ModelsParts, caller: Caller): object {
  const { prices, listModels, mayUseModel } = parts;
  // Without a price, requests to the model are refused.
  const isPriced = (name: string): boolean =>
    prices === undefined || findPrice(parts, caller, name) !== undefined;
  const usable = listModels().filter(({ model: { name } }) => mayUseModel(caller, name) && isPriced(name));
  return { object: "list", data: usable.map((listed) => toEntry(parts, caller, listed)) };
}

/** @throws GatewayError as for an image request: `model_not_found`, `model_not_allowed`, `model_not_priced`, `group_not_priced` */
function findEntry(parts: ModelsParts, caller: Caller, name: string): PricedEntry {
  // A series is not a model, although a request may have its name.
  if (isSeries(name)) throw notFoundError(name);
  const model = parts.resolveModel(name, caller, "generate");
  parts.prices?.find(model.name, caller.group ?? DEFAULT_GROUP);
  return toEntry(parts, caller, { model, entry: describeModel(model) });
}

function toEntry(parts: ModelsParts, caller: Caller, { model, entry }: ListedModel): PricedEntry {
  const { preferences: gateway, showPrices } = parts;
  const price = showPrices ? findPrice(parts, caller, model.name) : undefined;
  // With this format the gateway makes the stream itself if the model does not stream.
  const { streamFormat } = findPreferences({ caller, model: model.preferences, gateway });
  const stream = entry.capabilities.stream || streamFormat === "openai";
  return {
    ...entry,
    capabilities: { ...entry.capabilities, stream },
    ...(price !== undefined && { price }),
  };
}

function findPrice({ prices }: ModelsParts, { group }: Caller, name: string): JsonObject | undefined {
  return prices?.show(name, group ?? DEFAULT_GROUP);
}
