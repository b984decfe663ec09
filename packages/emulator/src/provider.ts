import type { Fault } from "./faults/fault.js";
import type { JsonObject } from "./json.js";
import type { ProviderName } from "./provider-name.js";
import type { Refusal } from "./refusal.js";
import type { Services } from "./services.js";

/** A request whose key was accepted and whose body is a JSON object. */
export interface ProviderCall {
  readonly requestId: string;
  /** Where result links point. */
  readonly origin: string;
  /**
   * For its headers and its `signal`, which is aborted when the client leaves. Keep the request, not the signal
   * alone: once a request is garbage, Node no longer tells its signal.
   */
  readonly request: Request;
  readonly body: JsonObject;
  /** The flaws that the answer is to have. */
  readonly fault: Fault;
}

/** What differs between the two providers. The path of a request is the same: `answer-call.ts`. */
export interface Provider {
  readonly name: ProviderName;
  /** Where the API lives, for requests that miss the one path it has. */
  readonly basePath: string;
  readonly generationPath: string;
  /** The header with the time that the answer took, where the provider sends one. */
  readonly costTimeHeader?: string;
  readonly wrongKey: () => Refusal;
  readonly bodyTooLarge: () => Refusal;
  readonly bodyNotJson: () => Refusal;
  createRequestId(services: Services): string;
  acceptedKeys(services: Services): readonly string[] | undefined;
  /** The code of a fault that names only a status. */
  codeForStatus(status: number): string;
  renderRefusal(refusal: Refusal, requestId: string): Response;
  renderNotFound(requestId: string): Response;
  generate(call: ProviderCall, services: Services): Promise<Response>;
}
