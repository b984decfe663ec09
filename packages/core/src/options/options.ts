import type { AdmissionStore } from "../admission/store.js";
import type { Authenticate, CallerOptions } from "../auth/authenticate.js";
import type { Ledger } from "../billing/ledger.js";
import type { PriceTables } from "../billing/model-details.js";
import type { LostPolicy, UsageRecord } from "../billing/records.js";
import type { ChannelOptions } from "../channels/channel.js";
import type { BeforeSend, FailureEvent, RequestEvent } from "../events.js";
import type { Family } from "../families/family.js";
import type { Logger } from "../logger.js";
import type { CapabilityRows, ModelOptions } from "../models/resolve-model.js";
import type { BodyLimits } from "../request/read-request.js";
import type { CallerLimits, ResponseFormat } from "../types.js";
import type { Fetch } from "../upstream/transport-fetch.js";

/** Everything that `createGateway` takes. Wrong options fail at start, every problem listed with its path. */
export interface GatewayOptions {
  /** Stands before every path of the gateway: `/ai` serves `/ai/v1/images/generations`. Default: none. */
  basePath?: string | undefined;
  /** Service model name, or series (`image-edit*`), to what is behind it. An exact name wins, then the longest prefix. */
  models: Loadable<Readonly<Record<string, ModelOptions>>>;
  /**
   * Rows that say what models can do, in addition to the rows of the families: for each family, names or series of
   * models. A row applies to all models of the family with such a name, before the family's own row. The names are
   * compared without the provider's prefix (`doubao-`, `dola-`); `image-…` means `qwen-image-…`.
   */
  capabilities?: CapabilityRows | undefined;
  /**
   * Whether clients may write model names in any case. Records, prices, limits and upstream names then have the
   * configured spelling; the open part of a series is in lower case. Two configured names that differ only in case
   * are an error. Default `false`: a name that differs only in case from a configured model, a price or a row of
   * limits gets a 404.
   */
  caseInsensitiveNames?: boolean | undefined;
  /** The accounts that make the images. */
  channels: Loadable<readonly ChannelOptions[]>;
  /** Who may call. Give these, or `authenticate`. */
  callers?: Loadable<readonly CallerOptions[]> | undefined;
  /** The operator's own key check. Give this, or `callers`. */
  authenticate?: Authenticate | undefined;
  /** Prices. Without them nothing is charged, and usage records carry `charge: null`. */
  billing?: BillingOptions | undefined;
  /** What each caller may do, unless its own `limits` say otherwise. Default: no limits. */
  limits?: CallerLimits | undefined;
  /** Response format for requests that name none, below the caller's and the model's. Default: the provider's, `url`. */
  responseFormat?: ResponseFormat | undefined;
  /** How large a request's body may be, in bytes, and how slowly it may arrive. */
  bodyLimits?: { readonly [Kind in keyof BodyLimits]?: number | undefined } | undefined;
  /**
   * The most bytes of bodies that the gateway holds at once; past it requests are refused with a 503 and
   * `Retry-After`. Default 1 GiB.
   */
  maxBytesInFlight?: number | undefined;
  /**
   * The share of `maxBytesInFlight` that one caller may use while another caller waits: above 0, at most 1. A caller
   * waits while one of its bodies arrives, and for 10 seconds after one of its bodies was refused for lack of room.
   * While no other caller waits, one caller may use all of it. Default 0.5.
   */
  maxCallerShare?: number | undefined;
  /**
   * What forms' files may take of memory, in bytes, for all requests together. Half of it, and of more than 256 MiB
   * all but 128 MiB, keeps files; the rest is for what is on its way from clients and to providers. What is more goes to
   * temporary files, where the runtime is Node; elsewhere it stays in memory. Default 256 MiB.
   */
  uploadMemoryBytes?: number | undefined;
  /** The largest JSON response of a provider that is read, in bytes. Default 256 MiB. */
  maxUpstreamResponseBytes?: number | undefined;
  /**
   * Sends a comment into a stream that was silent for so many seconds. The silence before the provider's response
   * begins is not filled: until then it may still be an error. Default: none.
   */
  heartbeatSeconds?: number | undefined;
  /**
   * How long a client may read nothing of a response that is ready, in seconds. This applies to streams and to JSON
   * responses of at least 256 KiB. After this time the gateway treats the client as disconnected. A client that reads
   * at least 128 KiB in this time is never disconnected, and the time that the provider needs does not count. Default
   * 60.
   */
  responseIdleSeconds?: number | undefined;
  /** Families beside the built-in `seedream` and `qwen-image`. */
  families?: readonly Family[] | undefined;
  /** Where holds, charges and records are kept. Default: the memory of this process, bounded. */
  ledger?: Ledger | undefined;
  /** Where limits, idempotency keys and cooldowns are kept. Default: the memory of this process, bounded. */
  admission?: AdmissionStore | undefined;
  /** How repeated requests with an `Idempotency-Key` are answered. */
  idempotency?: { readonly [Name in keyof IdempotencyOptions]?: number | undefined } | undefined;
  /**
   * Called before anything is spent; refuse by throwing a `GatewayError`, such as
   * `new GatewayError("request_refused", "…")`. Anything else it throws is a 500: a guard that fails lets nothing pass.
   */
  beforeSend?: BeforeSend | undefined;
  /**
   * Called with the record of each request that reached a provider, at least once: a function that throws is
   * called with it again, and so is that of a new process where the ledger is durable. A record has a stable `id`.
   */
  onUsage?: ((record: UsageRecord) => unknown) | undefined;
  /** Called once for each request that failed, whoever's fault it was. What it throws is logged. */
  onError?: ((event: FailureEvent) => unknown) | undefined;
  /** Called once for each request when its response begins. What it throws is logged. */
  onRequest?: ((event: RequestEvent) => unknown) | undefined;
  /** Default: lines of JSON on the error stream. */
  logger?: Logger | undefined;
  /** Replaces the transport to the providers, for a proxy or a test. */
  fetch?: Fetch | undefined;
}

/** Prices and ratios. The fields are spelled as in the back office of the interface. */
export interface BillingOptions {
  /** Service model, or series such as `image-edit*`, to its price. An exact name wins, then the longest prefix. */
  model_details: Loadable<PriceTables["model_details"]>;
  /** Caller group to its ratio. Default `{ default: "1" }`. */
  group_ratio?: Loadable<PriceTables["group_ratio"]> | undefined;
  /**
   * What is charged for a request that was cut off by the death of its process: nothing (`release`), or all that was
   * held for it (`charge`). Default `release`.
   */
  onLost?: LostPolicy | undefined;
}

/** How long and how much is kept for repeated requests. */
export interface IdempotencyOptions {
  /** Seconds that a response is kept. Default 86,400, a day. */
  readonly seconds: number;
  /** The largest response that is stored, in bytes. A repeat of a request with a larger one is refused. Default 256 KiB. */
  readonly maxResponseBytes: number;
}

const MIB = 1024 * 1024;
export const DEFAULT_BODY_LIMITS: BodyLimits = {
  json: 64 * MIB,
  form: 64 * MIB,
  file: 30 * MIB,
  minBytesPerSecond: 1_024,
  slowAfterSeconds: 20,
};
export const DEFAULT_IDEMPOTENCY: IdempotencyOptions = { seconds: 86_400, maxResponseBytes: 256 * 1024 };
export const DEFAULT_MAX_BYTES_IN_FLIGHT = 1024 * MIB;
export const DEFAULT_MAX_CALLER_SHARE = 0.5;
export const DEFAULT_UPLOAD_MEMORY_BYTES = 256 * MIB;
export const DEFAULT_MAX_UPSTREAM_RESPONSE_BYTES = 256 * MIB;
export const DEFAULT_RESPONSE_IDLE_SECONDS = 60;

/** A part of the options that may change: as it is, or a function that reads it, such as from a file or a back office. */
export type Loadable<T> = T | (() => T | Promise<T>);

/** One thing that is wrong with the options. */
export interface OptionsProblem {
  /** Where: `channels[0].apiKey`. */
  readonly path: string;
  readonly message: string;
}
