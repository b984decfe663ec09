import type { Family } from "../families/family.js";
import type { UpstreamFailureKind, Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";

/** A family, and what its provider was seen to do. */
export interface FamilySubject {
  readonly family: Family;
  /** A dialect of the family. Default: its own. */
  readonly dialect?: string | undefined;
  /** The name of a model at the provider. It is the service model too. */
  readonly model: string;
  /** Requests of clients with the provider's responses, at least one. Recorded, so that they are true. */
  readonly exchanges: readonly RecordedExchange[];
  /** Error responses of the provider, and what they mean. */
  readonly failures: readonly RecordedFailure[];
}

/** One request of a client, and the provider's successful response to it. */
export interface RecordedExchange {
  /** Names the exchange in the checks. */
  readonly name: string;
  readonly request: RecordedRequest;
  /** Of a provider that works with jobs: the response to the submission. */
  readonly response: RecordedResponse;
  /** What follows the submission. Absent: `response` has the images, or the provider refused the request. */
  readonly job?: RecordedJob | undefined;
  /** @deprecated Use {@link job}. */
  readonly task?: RecordedJob | undefined;
  readonly expects: {
    /** The images that the client gets. 0: the response is an error for the client. */
    readonly images: number;
    /** The `usage` of the record. Absent: the provider reports none. */
    readonly usage?: Usage | undefined;
    /** The status for the client. Default 200. */
    readonly status?: number | undefined;
    /** The `error.code` for the client. */
    readonly code?: string | undefined;
  };
}

/** The responses about one job of a provider. */
export interface RecordedJob {
  /** The responses to the polls, in order; the last one ends the job. With two or more, the first says that it goes on. */
  readonly polls: readonly RecordedResponse[];
  /** The response with the result, if the family has `fetchResult`. */
  readonly result?: RecordedResponse | undefined;
}

/** @deprecated Use {@link RecordedJob}. */
export type RecordedTask = RecordedJob;

/** A request of a client to `/v1`. */
export interface RecordedRequest {
  /** `edit` sends a form with a PNG in `image`. Default `generate`. */
  readonly operation?: "generate" | "edit" | undefined;
  /** The fields, without `model`. */
  readonly fields: JsonObject;
}

/** A response of the provider. */
export interface RecordedResponse {
  /** Default 200. */
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An object is sent as JSON, a string as a stream of events. */
  readonly body: JsonObject | string;
}

/** An error response of the provider. */
export interface RecordedFailure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An object is sent as JSON, a string as it is. */
  readonly body: JsonObject | string;
  readonly kind: UpstreamFailureKind;
}

/** One check. It fails if `run` rejects. */
export interface FamilyCheck {
  readonly name: string;
  readonly run: () => Promise<void>;
}
