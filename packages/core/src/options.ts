import type { BillingOptions } from "./billing/pricing.js";
import type { UsageRecord } from "./billing/usage-record.js";
import type { Family } from "./families/family.js";
import type { ResponseFormat } from "./image-request.js";
import type { Logger } from "./logger.js";
import type { ApiKeyOptions, Authenticate } from "./request/authenticate.js";
import type { BodyLimits } from "./request/read-fields.js";
import type { ChannelOptions } from "./routing/channel.js";
import type { ModelOptions } from "./routing/resolve-model.js";
import type { Fetch } from "./upstream/fetch-transport.js";

/** Everything that `createGateway` takes. Wrong options fail at start, every problem listed with its path. */
export interface GatewayOptions {
  /** Stands before every path of the gateway: `/ai` serves `/ai/v1/images/generations`. Default: none. */
  basePath?: string | undefined;
  /** Service model name, or series (`image-edit*`), to what is behind it. An exact name wins, then the longest prefix. */
  models: Readonly<Record<string, ModelOptions>>;
  /** The accounts that make the images. */
  channels: readonly ChannelOptions[];
  /** Who may call. Give these, or `authenticate`. */
  apiKeys?: readonly ApiKeyOptions[] | undefined;
  /** The operator's own key check. Give this, or `apiKeys`. */
  authenticate?: Authenticate | undefined;
  /** Prices. Without them nothing is charged, and usage records carry `charge: null`. */
  billing?: BillingOptions | undefined;
  /** Response format for requests that name none, below the caller's and the model's. Default: the provider's, `url`. */
  responseFormat?: ResponseFormat | undefined;
  /** How large a request's body may be, in bytes. */
  bodyLimits?: { readonly [Kind in keyof BodyLimits]?: number | undefined } | undefined;
  /** The largest JSON answer of a provider that is read, in bytes. Default 256 MiB. */
  maxAnswerBytes?: number | undefined;
  /**
   * Sends a comment into a stream that was silent for so many seconds. The silence before the provider's answer
   * begins is not filled: until then it may still be an error. Default: none.
   */
  heartbeatSeconds?: number | undefined;
  /** Families beside the built-in `seedream` and `qwen-image`. */
  families?: readonly Family[] | undefined;
  /** Called once for each request that reached a provider. What it throws is logged and breaks no request. */
  onUsage?: ((record: UsageRecord) => unknown) | undefined;
  /** Default: lines of JSON on the error stream. */
  logger?: Logger | undefined;
  /** Replaces the transport to the providers, for a proxy or a test. */
  fetch?: Fetch | undefined;
}

const MIB = 1024 * 1024;
export const DEFAULT_BODY_LIMITS: BodyLimits = { json: 64 * MIB, form: 64 * MIB, file: 30 * MIB };
export const DEFAULT_MAX_ANSWER_BYTES = 256 * MIB;
