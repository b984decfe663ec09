// The types that the page and its server share. This file has no code.
import type { Caller, OptionsProblem, UsageRecord } from "@calotype/core";
import type {
  BudgetStatus,
  CallCost,
  ChargeDerivation,
  CostLine,
  ModelDetails,
  PriceTables,
  RecordPage,
  RepricedSums,
  UsageLine,
  UsageSeries,
  UsageSums,
} from "@calotype/core/billing";
import type {
  AttemptCounts,
  CallerAuditEntry,
  CallerInfo,
  ChangedField,
  ChannelError,
  ChannelInfo,
  ChannelProbe,
  EstimateQuery,
  GatewayStatus,
  LimitStatus,
  ListedAlert,
  ProbeEstimate,
  Refusal,
  RefusalList,
  RequestEstimate,
  TaskInfo,
  TaskList,
  TaskQuery,
  WebhookEndpointName,
  WebhookMessage,
} from "@calotype/core/operator";

export type {
  AttemptCounts,
  BudgetStatus,
  CallCost,
  Caller,
  ChangedField,
  ChannelError,
  ChannelProbe,
  ChargeDerivation,
  CostLine,
  EstimateQuery,
  GatewayStatus,
  LimitStatus,
  ModelDetails,
  PriceTables,
  RecordPage,
  RefusalList,
  RequestEstimate,
  TaskInfo,
  TaskList,
  UsageLine,
  UsageRecord,
  UsageSums,
  WebhookMessage,
};

/** What a person may do: look, or also change callers, pause and probe channels and spend the money of the studio's caller. */
export type Role = "viewer" | "admin";

/** `GET api/session`: what the page has to know before it shows anything. */
export interface Session {
  readonly role: Role;
  /** `local`: there is no `authorize`, and the request came from this machine. */
  readonly access: "authorize" | "local";
  /** The path of the gateway's endpoints before `/v1`, for the code to copy. */
  readonly gatewayPath: string;
  /** Whether the gateway has prices. */
  readonly hasPrices: boolean;
  /** The id of the caller that pays in Try without a key. Absent: there is none, or this person may not use it. */
  readonly tryCaller?: string;
  /** The currency of all amounts, or of those of each model or series. Absent: it is not known. */
  readonly currency?: string | Readonly<Record<string, string>>;
}

/**
 * A caller with its budget. `fixed`: it is in the options and cannot be changed here. `user`: a signed-in user of the app, with the
 * budget of the last request that had one.
 */
export interface CallerRow extends Omit<CallerInfo, "state" | "keys" | "createdAt" | "changedAt"> {
  readonly state: CallerInfo["state"] | "fixed" | "user";
  readonly keys?: CallerInfo["keys"];
  readonly createdAt?: string;
  readonly changedAt?: string;
  /** Absent if it cannot be read; `budgetProblem` then says why. */
  readonly spent?: BudgetStatus;
  readonly budgetProblem?: string;
  /** The part of the budget that is charged or held; 1 is all of it. Absent without a budget. */
  readonly share?: number;
  /** How close it is to its limits. `null`: the admission store cannot tell. Absent: it could not be read, or it is a user. */
  readonly limitStates?: readonly LimitStatus[] | null;
}

/** How the list of callers is sorted. `budget`: the largest part of the budget first. `spent`: the highest charges first. */
export type CallerSort = "budget" | "spent" | "id";

/** `GET api/callers?sort=&q=&group=&state=&page=`: the callers that match, in pages. */
export interface CallerRows {
  readonly callers: readonly CallerRow[];
  /** How many callers match, on all pages. */
  readonly matching: number;
  /** The number of pages, at least 1. */
  readonly pages: number;
  /** Of all callers that are not revoked. */
  readonly summary: CallerSummary;
  /** The price groups of all callers. */
  readonly groups: readonly string[];
  /** There are more callers than the studio sorts: those with the last ids are missing. */
  readonly isCut: boolean;
  /** False if the ledger keeps no callers, so that none can be created. */
  readonly canCreate: boolean;
  /** False if the ledger cannot list signed-in users, so that they are missing. */
  readonly hasUsers: boolean;
}

/** How many callers are close to their budgets. */
export interface CallerSummary {
  readonly callers: number;
  /** At least 80 % of the budget is charged or held, and something is left. */
  readonly near: number;
  /** Nothing of the budget is left. */
  readonly empty: number;
}

/** `POST api/callers` and `POST api/callers/{id}/rotate`. */
export interface NewKey {
  readonly caller: CallerRow;
  /** Shown once. */
  readonly key: string;
}

/** `GET api/alerts?caller=`: the newest alerts about budgets, at most 100. */
export interface AlertList {
  readonly alerts: readonly ShownAlert[];
}

/** An alert with the names of the endpoints of webhooks that it has a message for. */
export interface ShownAlert extends ListedAlert {
  readonly endpoints: readonly string[];
}

/** `GET api/callers/{id}/keys`: the last request of each key, in the newest records of the caller. */
export interface KeyUses {
  readonly uses: readonly KeyUse[];
  /** How many records there are. If `isAll` is false, there are older ones. */
  readonly records: number;
  readonly isAll: boolean;
}

/** The last request of a key. */
export interface KeyUse {
  readonly hint: string;
  readonly time: string;
  readonly requestId: string;
}

/** `GET api/callers/{id}/audit`. */
export interface CallerHistory {
  readonly lines: readonly CallerAuditEntry[];
}

/** A channel of `GET api/channels`: what it is configured for, and what it did in the last 24 hours. */
export interface ChannelFacts extends ChannelInfo {
  /** The requests whose response came from it. Absent: the ledger keeps no totals. */
  readonly day?: UsageSums;
  /** Its last failed attempt in the newest records, also of other processes. Absent if there is none. */
  readonly lastError?: RecordedError;
}

/** `GET api/channels/{id}/errors`: its failed attempts in the newest records, the newest first. */
export interface RecordedErrors {
  readonly errors: readonly RecordedError[];
}

/** A failed attempt, as its record has it. */
export interface RecordedError
  extends Pick<ChannelError, "time" | "status" | "code" | "upstreamModel" | "key"> {
  readonly requestId: string;
}

/** The part of the tasks that `GET api/tasks?state=` lists. */
export type TaskState = NonNullable<TaskQuery["state"]>;

/** `GET api/requests/{id}/images`: the images of a request that were stored. `GET api/requests/{id}/images/{image}` sends one. */
export interface StoredImages {
  readonly images: readonly {
    readonly id: string;
    /** `unreadable`: the gateway cannot read what its store has. `failed`: the store failed this time. */
    readonly state: "stored" | "gone" | "unreadable" | "failed";
    /** Absent if it cannot be read. */
    readonly byteLength?: number;
    /** Whether the page loads it to show it small. Absent if it cannot be read. */
    readonly hasThumbnail?: boolean;
  }[];
}

/** `GET api/webhooks`: the newest messages, and the endpoints that get none because they responded with 410. */
export interface WebhookList {
  readonly messages: readonly WebhookMessage[];
  readonly disabled: readonly WebhookEndpointName[];
}

/** `GET api/channels/{id}/plan`: what a probe or a pause of a channel would do. */
export interface ChannelPlan {
  readonly probe: ProbeEstimate;
  /** The models and series that no other channel serves, except for paused ones. Their requests would be refused. */
  readonly only: readonly string[];
}

/** `POST api/channels/{id}/pause`. */
export interface PauseRequest {
  /** Absent: until the channel is resumed. */
  readonly seconds?: number;
  readonly note?: string;
}

/** `GET api/usage`: usage over time, and that of the period with which it is compared, if the query names one. */
export interface UsageReport {
  readonly series: UsageSeries;
  readonly previous?: Pick<UsageSeries, "buckets" | "total">;
  /** What was charged in each currency, the highest first, if the studio has several: their amounts are not added up. */
  readonly charges?: readonly CurrencyCharge[];
}

/** The charges in one currency. */
interface CurrencyCharge {
  /** `""`: no currency is named for the models. */
  readonly currency: string;
  /** A decimal string. */
  readonly charge: string;
}

/** `GET api/search?text=…`: what a text finds. All of it is there for an empty text but the request. */
export interface SearchResult {
  /** Ids that contain the text. */
  readonly callers: readonly string[];
  /** Ids that contain the text. */
  readonly channels: readonly string[];
  /** Names that contain the text. */
  readonly models: readonly string[];
  /** The request whose id the text is. */
  readonly request?: FoundRequest;
}

/** A request that got an error and has no usage record. */
export interface RefusedRequest extends Refusal {
  readonly state: "refused";
}

/** `GET api/requests/ID`. */
export type FoundRequest = UsageRecord | RefusedRequest;

/** `GET api/prices`. */
export interface PriceView {
  /** `null` without prices. */
  readonly tables: PriceTables | null;
  /** The models that have a price, with what they can do. */
  readonly models: readonly ModelEntry[];
}

/** `POST api/prices/reprice`: what the requests of a period would have cost under other prices. */
export interface RepriceRequest {
  /** ISO 8601 with a zone. It is included. */
  readonly from: string;
  /** It is not included. */
  readonly to: string;
  readonly tables: PriceTables;
}

/** A line of the response to {@link RepriceRequest}, which is JSON Lines: how far it is, and at last the result or an error. */
export type RepriceLine =
  | { readonly kind: "progress"; readonly records: number; readonly until: string }
  | { readonly kind: "result"; readonly result: RepriceResult }
  | { readonly kind: "error"; readonly error: ErrorBody["error"] };

/** What some requests would have cost. */
export interface RepricedLine extends RepricedSums {
  /** `newCharge - charge`, a decimal string that can be negative. */
  readonly change: string;
}

/** What the records of a period would have cost. */
export interface RepriceResult extends RepricedLine {
  /** Those whose charges change the most, at most 100. */
  readonly models: readonly (RepricedLine & { readonly model: string })[];
  readonly callers: readonly (RepricedLine & { readonly caller: string })[];
  /** How many models and callers there are in all. */
  readonly modelCount: number;
  readonly callerCount: number;
  /** The period has more records than are read at once: only those before this time are counted. */
  readonly cutAt?: string;
}

/** `POST api/prices/calculate`: what a number of images costs, with the derivation. */
export interface CalculateRequest {
  readonly model: string;
  readonly group?: string;
  readonly images: number;
  /** Pixels of each image, such as `2048x2048`. */
  readonly size?: string;
  readonly quality?: string;
  /** How many of the images are layers. */
  readonly layers?: number;
  readonly referenceImages?: number;
  /** What the provider reports, such as `output_tokens`. */
  readonly tokens?: Readonly<Record<string, number>>;
}

/** The answer to {@link CalculateRequest}. */
export interface CalculatedCharge {
  readonly amount: string;
  readonly derivation: ChargeDerivation;
}

/** A model of `GET /v1/models`, as far as the page reads it. */
export interface ModelEntry {
  readonly id: string;
  readonly owned_by: string;
  readonly capabilities: {
    readonly operations: readonly ("generate" | "edit")[];
    readonly sizes: ModelSizes | null;
    readonly max_images: number | null;
    readonly references: { readonly min: number; readonly max: number } | null;
    readonly stream: boolean;
    readonly background: readonly string[] | null;
    readonly output_formats: readonly string[] | null;
    readonly qualities?: readonly string[];
  };
}

/** The sizes that a model accepts. If all of it is empty, the model takes no size. */
export interface ModelSizes {
  readonly presets: readonly string[];
  readonly list: readonly string[];
  readonly min_pixels: number | null;
  readonly max_pixels: number | null;
  readonly min_side: number | null;
  readonly max_side: number | null;
  readonly max_aspect_ratio: number | null;
  readonly multiple_of?: number;
}

/** Any error of the studio or of the gateway. */
export interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly param?: string | null;
    /** The provider's id of the request, if it sent one. */
    readonly upstream_request_id?: string;
    /** What is wrong with the prices that were sent, each with its path. */
    readonly problems?: readonly OptionsProblem[];
  };
}
