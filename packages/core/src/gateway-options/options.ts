import type { Authenticate, CallerOptions } from "../auth/authenticate.js";
import type { MinimalLedger } from "../billing/ledger.js";
import type { UsageRecord } from "../billing/records.js";
import type { ChannelOptions } from "../channels/channel.js";
import type { Telemetry } from "../contract/telemetry.js";
import type { BeforeSend, FailureEvent, RequestEvent } from "../events.js";
import type { Family } from "../families/family.js";
import type { BudgetAlert } from "../features/budgets/budget-store.js";
import type { CorsOptions } from "../features/cors/cors.js";
import type { AdmissionStore } from "../features/limits/store.js";
import type { WaitingOptions } from "../features/limits/waiting-requests.js";
import type { MarksOptions } from "../features/marks/marks-options.js";
import type { ReferencePage } from "../features/reference-page/reference-page.js";
import type { AfterImage } from "../features/results/after-image.js";
import type { ResultsOptions } from "../features/results/results-options.js";
import type { TaskOptions } from "../features/tasks/task-options.js";
import type { ReportSource } from "../features/usage/report-source.js";
import type { Ledger } from "../features/usage/usage-reports.js";
import type { WebhooksOptions } from "../features/webhooks/webhook-options.js";
import type { Feature } from "../kernel/feature.js";
import type { Logger } from "../logger.js";
import type { CapabilityRows, ModelOptions } from "../models/resolve-model.js";
import type { BillingOptions, IdempotencyOptions, Loadable } from "../options/options.js";
import type { BodyLimits } from "../request/read-request.js";
import type { CallerLimits, Preferences } from "../types.js";
import type { Fetch } from "../upstream/transport-fetch.js";
import type { JsonObject } from "../util/json.js";

/**
 * The options of `createGateway`. Wrong options fail at startup with an error that lists every problem with its path.
 */
export interface GatewayOptions extends Preferences {
  /** The beginning of every path of the gateway: with `/ai` it serves `/ai/v1/images/generations`. Default: none. */
  basePath?: string | undefined;
  /**
   * The models by the name that clients send, or by series (`image-edit*`). An exact name wins, then the longest
   * prefix.
   */
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
  /** Which web pages may call the gateway from a browser. Default: none; only the headers that a page may read are named. */
  cors?: CorsOptions | undefined;
  /**
   * Whether `GET {base}/healthz` says, without a key, whether the ledger, the admission store and the channels
   * work. Default `false`.
   */
  healthz?: boolean | undefined;
  /**
   * Whether `POST {base}/v1/chat/completions` serves models that make images, for chat programs. Only below a `basePath` or a
   * mount path. Default `false`.
   */
  chatCompletions?: boolean | undefined;
  /** Whether `POST {base}/v1beta/models/{model}:generateContent` serves Google's SDK. Only below a `basePath` or a mount path. Default `false`. */
  geminiEndpoint?: boolean | undefined;
  /**
   * Whether `GET {base}/openapi.json` serves the OpenAPI 3.1 description of the gateway. It needs no key. `true` loads the
   * document when it is requested first; on Cloudflare Workers, pass the document itself, `openApiDocument` of
   * `@calotype/core/openapi`, or one of your own. The gateway adds `servers` if the document has none. Default `false`.
   */
  openapi?: boolean | JsonObject | undefined;
  /**
   * A page at `GET {base}/reference` for people who read the OpenAPI document: `createReference` of
   * `@calotype/core/reference`. It needs no key, and needs `openapi`. Default: no page.
   */
  reference?: ReferencePage | undefined;
  /** The provider accounts that make the images. */
  channels: Loadable<readonly ChannelOptions[]>;
  /**
   * Which of the usable channels of the highest priority gets a request. `"priority"`: each, by its weight. `"cost"`: those with the
   * lowest estimated cost, see `channels[].costs`, by their weights; those whose cost is not known come last. Default `"priority"`.
   */
  routing?: "priority" | "cost" | undefined;
  /** The callers and their keys. Set either this or `authenticate`. */
  callers?: Loadable<readonly CallerOptions[]> | undefined;
  /** Your own check of API keys. Set either this or `callers`. */
  authenticate?: Authenticate | undefined;
  /** The prices. Without them nothing is charged, and usage records have `charge: null`. */
  billing?: BillingOptions | undefined;
  /**
   * Whether `GET /v1/models` shows the price of each model for the caller's group, and `POST …/estimate` the charge. Needs
   * `billing`; without it there are no prices to show. Default `false`.
   */
  showPrices?: boolean | undefined;
  /**
   * Whether responses have the header `x-calotype-charge` with the exact charge. Streams and large responses have none: they
   * begin before the charge is known. Default `false`.
   */
  showCharge?: boolean | undefined;
  /** The limits of each caller without its own `limits`. Default: no limits. */
  limits?: CallerLimits | undefined;
  /** The maximum size of request bodies, in bytes, and their minimum speed. */
  bodyLimits?: { readonly [Kind in keyof BodyLimits]?: number | undefined } | undefined;
  /**
   * The maximum number of bytes of bodies in memory, for all requests together. Above it, requests are refused with a
   * 503 and `Retry-After`. Default 1 GiB.
   */
  maxBytesInFlight?: number | undefined;
  /**
   * The share of `maxBytesInFlight` that one caller may use while another caller waits: above 0, at most 1. A caller
   * waits while one of its bodies arrives, and for 10 seconds after one of its bodies was refused for lack of room.
   * While no other caller waits, one caller may use all of it. Default 0.5.
   */
  maxCallerShare?: number | undefined;
  /**
   * Memory for uploaded files across all requests, in bytes. Half of it stores files (above 256 MiB: all but 128
   * MiB); the rest is for transfer. Files that do not fit are written to temporary files on Node, and stay in memory
   * on other runtimes. Default 256 MiB.
   */
  uploadMemoryBytes?: number | undefined;
  /** The maximum size of a provider's JSON response, in bytes. A larger one is an error. Default 256 MiB. */
  maxUpstreamResponseBytes?: number | undefined;
  /**
   * Sends a comment to the client when a stream was silent for this time, in seconds. The time begins when the request
   * arrives: if the provider has not responded by then, the stream begins with a comment, and a later failure is an
   * `error` event in place of an HTTP error. Default: no comments, and a stream begins with the provider's response.
   */
  heartbeatSeconds?: number | undefined;
  /**
   * How long a client may read nothing of a response that is ready, in seconds. This applies to streams and to JSON
   * responses of at least 256 KiB. After this time the gateway treats the client as disconnected. A client that reads
   * at least 128 KiB in this time is never disconnected, and the time that the provider needs does not count. Default
   * 60.
   */
  responseIdleSeconds?: number | undefined;
  /**
   * Stores the images of results, so that their links stay valid after those of the provider have expired. Default: the
   * images are not stored, and clients get the provider's links.
   */
  results?: ResultsOptions | undefined;
  /**
   * Writes the mark "made by AI", which programs can read, into PNG, JPEG and WebP images while their bytes pass. Images are not
   * encoded again. Links of the provider lead to images without a mark: store them (`results`), or deliver base64. Default: no marks.
   */
  marks?: MarksOptions | undefined;
  /**
   * Where the gateway reports the end of tasks to callers, by signed requests. It needs a ledger that keeps tasks. Default: no
   * webhooks.
   */
  webhooks?: Loadable<WebhooksOptions> | undefined;
  /** How tasks are run and kept, see {@link TaskOptions}. They need no option. */
  tasks?: TaskOptions | undefined;
  /** Families in addition to `seedream` and `qwen-image`: `openai`, `gemini`, or your own. */
  families?: readonly Family[] | undefined;
  /**
   * Features in addition to those of every gateway, such as `mcp()` of `@calotype/mcp`, or your own. Their routes are matched, and
   * their `beforeSend` is called, after those of the other features. What a feature adds to the object of the gateway is there,
   * and not in the type `Gateway`. Default: none.
   */
  features?: readonly Feature[] | undefined;
  /** Stores holds, charges and records. Default: in the memory of this process, with a limited number. */
  ledger?: MinimalLedger | Ledger | undefined;
  /**
   * What `gateway.usage` reads in place of the ledger: another database with the same records, such as a replica or an analytics
   * database. Balances, budgets and charges stay those of the ledger. Default: the ledger.
   */
  reports?: ReportSource | undefined;
  /**
   * Stores the counters of limits, idempotency keys and cooldowns. Default: in the memory of this process, with a
   * limited number.
   */
  admission?: AdmissionStore | undefined;
  /** How long responses are stored for repeated requests with an `Idempotency-Key`, and up to which size. */
  idempotency?: { readonly [Name in keyof IdempotencyOptions]?: number | undefined } | undefined;
  /** How many requests may wait for their limits in this process. They wait only where `limits` have `waitSeconds`. */
  waiting?: { readonly [Name in keyof WaitingOptions]?: number | undefined } | undefined;
  /**
   * Called before a request is sent to a provider. To refuse the request, throw a `GatewayError`, such as `new
   * GatewayError("request_refused", "…")`. If it throws anything else, the client gets a 500 and nothing is sent.
   */
  beforeSend?: BeforeSend | undefined;
  /**
   * Called with each image, before it is stored and delivered. It may return other bytes, or throw a `GatewayError` to
   * refuse the image. Needs `results`. The whole image is in memory meanwhile.
   */
  afterImage?: AfterImage | undefined;
  /**
   * Called with the record of each request that reached a provider. Each record is delivered at least once: if the
   * function throws, it is called again with the record. With a persistent ledger this also happens after a restart.
   * A record has a stable `id`.
   */
  onUsage?: ((record: UsageRecord) => unknown) | undefined;
  /**
   * In place of `onUsage`: called with up to 1,000 records at a time, at the latest about a second after a record was stored. The records
   * of a caller come in the order in which they were stored, also after a failure. If the function throws, rejects or takes longer than
   * 30 s, it is called again with these records, at the earliest 30 s after the first time. Each record is delivered at least once, so
   * the receiver must ignore an `id` with a `state` that it knows. The ledger must have an outbox; ours do.
   */
  onUsageBatch?: ((records: readonly UsageRecord[]) => unknown) | undefined;
  /**
   * Called when the charges of a caller reach 50, 80 and 100 % of its budget: once for each caller, period and threshold.
   * Each alert is delivered at least once, as the records of `onUsage` are; it has a stable `id`. Needs a ledger that counts
   * by period. The endpoints of `webhooks` also get alerts, with or without this function.
   */
  onBudget?: ((alert: BudgetAlert) => unknown) | undefined;
  /** Called once for each request that failed, for any reason. If it throws, the error is logged. */
  onError?: ((event: FailureEvent) => unknown) | undefined;
  /** Called once for each request when its response begins. If it throws, the error is logged. */
  onRequest?: ((event: RequestEvent) => unknown) | undefined;
  /** Gets warnings and errors. Default: lines of JSON on stderr. */
  logger?: Logger | undefined;
  /**
   * Whether the history of each call is written to `logger.info`: hold, attempts, cooldowns, charge and response, each line
   * with the request's id. Default `false`.
   */
  logCalls?: boolean | undefined;
  /** Observes calls, for traces and metrics, see `@calotype/opentelemetry`. Default: none, which costs nothing. */
  telemetry?: Telemetry | undefined;
  /** Replaces the transport to the providers, for example for a proxy or a test. */
  fetch?: Fetch | undefined;
}
