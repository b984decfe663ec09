import type { GatewayRequest, GatewayResponse, HeaderReader } from "../http.js";
import type { Endpoint } from "../request/route.js";
import type { JsonObject } from "../util/json.js";
import type { NormalizedCall } from "./normalized-call.js";

/** Takes requests that are stored and run later, in place of the kernel. */
export interface Submissions {
  /** True if a result with base64 could not be kept. */
  readonly linksOnly: boolean;
  /** True if a request asks for that. Its body has not been read. */
  wants(endpoint: Endpoint, headers: HeaderReader): endpoint is SubmittedRequest["endpoint"];
  /** Stores a call with its hold, and responds. @throws GatewayError if the request is refused */
  submit(request: GatewayRequest, submission: SubmittedRequest): Promise<GatewayResponse>;
  /** @throws GatewayError if a replayed response is that of a submission: the client that repeats it waits for images */
  checkReplay(response: GatewayResponse): void;
}

/** A valid request that is to run later. */
export interface SubmittedRequest {
  readonly call: NormalizedCall;
  readonly endpoint: Exclude<Endpoint, { operation: "native" }>;
  /** The fields of the body, and whether they came in a form. */
  readonly fields: JsonObject;
  readonly isForm: boolean;
}
