import type { PriceTables } from "../billing/model-details.js";
import { isPromiseLike } from "../util/async.js";
import type { BillingOptions, GatewayOptions, Loadable } from "./options.js";

/** The options after the functions among them were called. */
export interface LoadedOptions
  extends Omit<GatewayOptions, "models" | "channels" | "callers" | "billing" | "webhooks"> {
  models: Read<GatewayOptions["models"]>;
  channels: Read<GatewayOptions["channels"]>;
  callers?: Read<GatewayOptions["callers"]>;
  billing?: LoadedBilling | undefined;
  webhooks?: Read<GatewayOptions["webhooks"]>;
}

/** The loaded prices and ratios. */
export interface LoadedBilling extends PriceTables, Pick<BillingOptions, "onLost"> {}

type Read<S> = Exclude<S, (...args: never[]) => unknown>;

/**
 * Reads the parts that may be functions. Returns the options synchronously if all of them are available, so that
 * wrong options fail in `createGateway`. Checks nothing: values that are not functions are passed on.
 */
export function loadOptions(options: GatewayOptions): LoadedOptions | Promise<LoadedOptions> {
  // Callers without types may pass anything. The next check reports it.
  if (typeof options !== "object" || options === null) return options;
  const models = read<LoadedOptions["models"]>(options.models);
  const channels = read<LoadedOptions["channels"]>(options.channels);
  const callers = read<LoadedOptions["callers"]>(options.callers);
  const billing = loadBilling(options.billing);
  const webhooks = read<LoadedOptions["webhooks"]>(options.webhooks);
  const isReady =
    !isPromise(models) &&
    !isPromise(channels) &&
    !isPromise(callers) &&
    !isPromise(billing) &&
    !isPromise(webhooks);
  if (isReady) return { ...options, models, channels, callers, billing, webhooks };
  return Promise.all([models, channels, callers, billing, webhooks]).then(([m, c, a, b, w]) => ({
    ...options,
    models: m,
    channels: c,
    callers: a,
    billing: b,
    webhooks: w,
  }));
}

function loadBilling(
  billing: BillingOptions | undefined,
): LoadedBilling | undefined | Promise<LoadedBilling> {
  if (typeof billing !== "object" || billing === null) return billing;
  const details = read<LoadedBilling["model_details"]>(billing.model_details);
  const ratios = read<LoadedBilling["group_ratio"]>(billing.group_ratio);
  if (!isPromise(details) && !isPromise(ratios)) {
    return { ...billing, model_details: details, group_ratio: ratios };
  }
  return Promise.all([details, ratios]).then(([model_details, group_ratio]) => ({
    ...billing,
    model_details,
    group_ratio,
  }));
}

function read<T>(source: Loadable<T>): T | Promise<T> {
  const value = isFunction(source) ? source() : source;
  if (!isPromiseLike(value)) return value;
  const promise = Promise.resolve(value);
  // The caller gets the rejection from the promise itself. This handler is for the case that another source throws
  // synchronously, so that the caller never awaits this promise.
  promise.catch(() => undefined);
  return promise;
}

function isFunction<T>(source: Loadable<T>): source is () => T | Promise<T> {
  return typeof source === "function";
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
