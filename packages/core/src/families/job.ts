import type { ImageRequest, Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";
import type { UpstreamFailure } from "./failure.js";
import type { UpstreamCall } from "./upstream-call.js";

/**
 * How a provider works that takes a request, responds with the id of a job, and makes the images later. Each function is
 * pure: it describes a call, or reads the response to one. The gateway sends the calls, waits between them, and ends the
 * job at its deadline, `timeouts.firstByteSeconds` of the channel after it sent the submission.
 *
 * Once a job was accepted, nothing is sent to another channel, whatever the later responses say. Polls that fail are
 * repeated. Responses to submissions and polls have at most 1 MiB.
 *
 * If the process ends, another one continues with {@link poll} and the stored {@link ProviderJob}. For an ordinary request,
 * `fromUpstream` then gets a request without prompt, images, and strings of more than 32 characters.
 */
export interface JobProtocol {
  /** Reads the successful response to the call of `toUpstream`. */
  readSubmission(body: JsonObject, request: ImageRequest): Submission;
  /** The call that asks for the state of a job. */
  poll(job: ProviderJob): UpstreamCall;
  /** Reads a successful response to {@link poll}. */
  readPoll(body: JsonObject, job: ProviderJob): JobState;
  /**
   * The call that fetches the result of a job that is done. `fromUpstream` reads its response, and `toFailure` an error: a
   * `content` failure is the end of the job, other errors are asked for again, a 4xx at most four times. Absent: `fromUpstream` reads the last
   * response to {@link poll}.
   */
  fetchResult?(job: ProviderJob): UpstreamCall;
  /**
   * The call that cancels a job. It is sent once, when the job has not ended at its deadline. Absent: the provider cannot
   * cancel a job, or charges for it all the same.
   */
  cancel?(job: ProviderJob): UpstreamCall;
  /**
   * The time before the first poll, and between two polls if the provider names none, in seconds. It grows with each poll,
   * by a tenth, up to 5 seconds. Default 1.
   */
  readonly pollSeconds?: number | undefined;
}

/** What the provider says about a submission. */
export type Submission =
  | { readonly job: ProviderJob }
  /** The response has the result already, and `fromUpstream` reads it. Nothing is polled. */
  | { readonly done: true }
  /** The old name of `job`, which still works. */
  | { readonly task: ProviderJob }
  /** The provider refused the request with a 2xx status. */
  | { readonly failure: UpstreamFailure };

/** A job as it is stored with the hold of its request. Plain JSON, because another process may continue it. */
export interface ProviderJob {
  /** The provider's id of the job, at most 512 characters. It is the upstream request id of records and errors. */
  readonly id: string;
  /** What the calls need besides the id, such as a `polling_url`. At most 4 KiB of JSON. Default: nothing. */
  readonly data?: JsonObject | undefined;
  /**
   * What the provider reported at the submission, such as a cost. Each member counts if the result does not report it. If
   * the job is not done at its deadline, the cost is recorded.
   */
  readonly usage?: Usage | undefined;
}

/** The state of a job. */
export type JobState =
  | {
      readonly state: "pending";
      /** How long the provider asks to wait, in seconds. */
      readonly retryAfterSeconds?: number | undefined;
    }
  | { readonly state: "done" }
  | {
      readonly state: "failed";
      readonly failure: UpstreamFailure;
      /** What the provider charges although the job failed. */
      readonly usage?: Usage | undefined;
    };

/** @deprecated Use {@link JobProtocol}. */
export type TaskProtocol = JobProtocol;
/** @deprecated Use {@link ProviderJob}. */
export type ProviderTask = ProviderJob;
/** @deprecated Use {@link JobState}. */
export type TaskState = JobState;
