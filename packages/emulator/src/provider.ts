import type { Fault } from "./faults/fault.js";
import type { JsonObject } from "./json.js";
import type { ProviderName } from "./provider-name.js";
import type { Refusal } from "./refusal.js";
import type { Services } from "./services.js";

/** A request with an accepted key and a JSON object as its body. */
export interface ProviderCall {
  readonly requestId: string;
  /** The origin of result links. */
  readonly origin: string;
  /**
   * For its headers and its `signal`, which is aborted when the client disconnects. Keep the request, not only the
   * signal: a request that was garbage collected no longer aborts its signal.
   */
  readonly request: Request;
  readonly body: JsonObject;
  readonly fault: Fault;
}

/** What differs between the providers. `handle-call.ts` handles a request in the same way for both. */
export interface Provider {
  readonly name: ProviderName;
  /** All paths of the API begin with this path. */
  readonly basePath: string;
  readonly generationPath: string;
  /** The header with the milliseconds until the response, if the provider sends one. */
  readonly costTimeHeader?: string;
  readonly wrongKey: () => Refusal;
  readonly bodyTooLarge: () => Refusal;
  readonly bodyNotJson: () => Refusal;
  createRequestId(services: Services): string;
  acceptedKeys(services: Services): readonly string[] | undefined;
  /** The code for a fault that has only a status. */
  codeForStatus(status: number): string;
  renderRefusal(refusal: Refusal, requestId: string): Response;
  renderNotFound(requestId: string): Response;
  generate(call: ProviderCall, services: Services): Promise<Response>;
}
