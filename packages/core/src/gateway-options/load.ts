import type { BillingOptions, Loadable, LoadedBilling, OptionSource } from "../options/options.js";
import { isPromiseLike } from "../util/async.js";
import type { GatewayOptions } from "./options.js";

/** The options that may be functions, or have parts that may be. */
export const LOADABLE = ["models", "channels", "callers", "billing", "webhooks"] as const;

/** The options after the functions among them were called. */
export interface LoadedOptions extends Omit<GatewayOptions, (typeof LOADABLE)[number]> {
  models: Loaded<GatewayOptions["models"]>;
  channels: Loaded<GatewayOptions["channels"]>;
  callers?: Loaded<GatewayOptions["callers"]>;
  billing?: LoadedBilling | undefined;
  webhooks?: Loaded<GatewayOptions["webhooks"]>;
}

type Loaded<S> = Exclude<S, (...args: never[]) => unknown>;

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
  const webhooks = read<LoadedOptions["webhooks"]>(options.webhooks);
  const clients = both(callers, webhooks, (c, w) => ({ callers: c, webhooks: w }));
  const rest = both(clients, loadBilling(options.billing), (loaded, billing) => ({ ...loaded, billing }));
  const providers = both(models, channels, (m, c) => ({ models: m, channels: c }));
  return both(providers, rest, (loaded, others) => ({ ...options, ...loaded, ...others }));
}

function loadBilling(
  billing: BillingOptions | undefined,
): LoadedBilling | undefined | Promise<LoadedBilling> {
  if (typeof billing !== "object" || billing === null) return billing;
  const details = read<LoadedBilling["model_details"]>(billing.model_details);
  const ratios = read<LoadedBilling["group_ratio"]>(billing.group_ratio);
  return both(details, ratios, (model_details, group_ratio) => ({ ...billing, model_details, group_ratio }));
}

/** Joins two values. Each may be a promise. */
function both<A, B, C>(
  one: A | Promise<A>,
  other: B | Promise<B>,
  join: (one: A, other: B) => C,
): C | Promise<C> {
  // Nothing else handles its rejection until `one` is there.
  if (isPromise(other)) other.catch(() => undefined);
  if (isPromise(one)) return one.then((value) => both(value, other, join));
  return isPromise(other) ? other.then((value) => join(one, value)) : join(one, other);
}

function read<T>(source: Loadable<T>): T | Promise<T> {
  const value = isSource(source) ? source() : source;
  if (!isPromiseLike(value)) return value;
  const promise = Promise.resolve(value);
  // The caller gets the rejection from the promise itself. This handler is for the case that another source throws
  // synchronously, so that the caller never awaits this promise.
  promise.catch(() => undefined);
  return promise;
}

/** True for an option that is a function. */
export function isSource<T>(option: Loadable<T>): option is OptionSource<T> {
  return typeof option === "function";
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return value instanceof Promise;
}
