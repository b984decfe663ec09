import type { Authenticate, CallerOptions } from "../auth/authenticate.js";
import type { MinimalLedger } from "../billing/ledger.js";
import type { PriceTables } from "../billing/model-details.js";
import type { LostPolicy } from "../billing/records.js";
import type { ChannelOptions } from "../channels/channel.js";
import type { CapabilityRows, ModelOptions } from "../models/resolve-model.js";
import type { BodyLimits } from "../request/read-request.js";

/**
 * Prices and ratios. The field names are those of the administration system whose price tables can be used here
 * unchanged.
 */
export interface BillingOptions {
  /** The prices by model name or series, such as `image-edit*`. An exact name wins, then the longest prefix. */
  model_details: Loadable<PriceTables["model_details"]>;
  /** The price ratios by caller group. Default `{ default: "1" }`. */
  group_ratio?: Loadable<PriceTables["group_ratio"]> | undefined;
  /**
   * What is charged for a request whose process died: nothing (`release`), or the whole amount of its hold
   * (`charge`). Default `release`.
   */
  onLost?: LostPolicy | undefined;
}

/** The loaded prices and ratios. */
export interface LoadedBilling extends PriceTables, Pick<BillingOptions, "onLost"> {}

/** The options that the kernel checks against each other, after the functions among them were called. */
export interface RelatedOptions {
  capabilities?: CapabilityRows | undefined;
  caseInsensitiveNames?: boolean | undefined;
  models: Readonly<Record<string, ModelOptions>>;
  channels: readonly ChannelOptions[];
  callers?: readonly CallerOptions[] | undefined;
  authenticate?: Authenticate | undefined;
  billing?: LoadedBilling | undefined;
  ledger?: MinimalLedger | undefined;
}

/** How long responses are stored for repeated requests, and up to which size. */
export interface IdempotencyOptions {
  /** How long a response is stored, in seconds. Default 86,400, a day. */
  readonly seconds: number;
  /** The largest response that is stored, in bytes. A repeat of a request with a larger one is refused. Default 256 KiB. */
  readonly maxResponseBytes: number;
}

/** Workers stop what a request has begun soon after its response, and are one file. */
export const IS_WORKERS = globalThis.navigator?.userAgent === "Cloudflare-Workers";
const MIB = 1024 * 1024;

/** What applies if an option of the kernel is not set. */
export const DEFAULTS = {
  bodyLimits: {
    json: 64 * MIB,
    form: 64 * MIB,
    file: 30 * MIB,
    minBytesPerSecond: 1_024,
    slowAfterSeconds: 20,
  } satisfies BodyLimits,
  idempotency: { seconds: 86_400, maxResponseBytes: 256 * 1024 } satisfies IdempotencyOptions,
  maxBytesInFlight: 1024 * MIB,
  maxCallerShare: 0.5,
  uploadMemoryBytes: 256 * MIB,
  maxUpstreamResponseBytes: 256 * MIB,
  responseIdleSeconds: 60,
};

/** Returns the defaults, with what is set in place of them. */
export function withDefaults<T extends object>(
  defaults: T,
  set: { readonly [Name in keyof T]?: T[Name] | undefined } = {},
): T {
  const chosen = Object.entries(set).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(chosen) };
}

/**
 * A part of the options that can be reloaded: the value itself, or a function that reads it, for example from a file.
 */
export type Loadable<T> = T | OptionSource<T>;

/** A function that reads an option, such as `jsonFile(…)` of `@calotype/node`. */
export interface OptionSource<T> {
  (): T | Promise<T>;
  /**
   * Tells the gateway that the option has changed, so that it reloads its options. Called once, when the gateway is created.
   * Absent: the option changes with `gateway.reload()` only.
   *
   * @returns a function that ends it, which the gateway calls when it is closed
   */
  readonly watch?: ((onChange: () => void) => () => void) | undefined;
}

/** A problem of the options. */
export interface OptionsProblem {
  /** The path of the option, such as `channels[0].apiKey`. */
  readonly path: string;
  /** What is wrong, and what to write instead. */
  readonly message: string;
}
