import type { OperationKind } from "./operation-kind.js";
import type { ProviderCall } from "./provider-call.js";
import type { ProviderName } from "./provider-name.js";
import type { Refusal } from "./refusal.js";
import type { Services } from "./services.js";

/** One path of a provider. */
export interface Operation {
  readonly kind: OperationKind;
  readonly method: "GET" | "POST" | "PUT";
  /** Matches the whole path after the provider's base path. */
  readonly path: RegExp;
  /** The kind of body. Default `json`. */
  readonly body?: "json" | "form" | "json-or-form" | "none";
  respond(call: ProviderCall, services: Services): Promise<Response>;
}

/** What differs between the providers. `handle-call.ts` handles a request in the same way for all. */
export interface Provider {
  readonly name: ProviderName;
  /** All paths of the API begin with one of these paths. */
  readonly basePaths: readonly string[];
  readonly operations: readonly Operation[];
  /** The key of the request. Default: that of `Authorization: Bearer …`. */
  readonly readKey?: (request: Request) => string | undefined;
  /** Whether a request needs a key. Default `true`. */
  readonly needsKey?: boolean;
  readonly wrongKey: () => Refusal;
  readonly bodyTooLarge: () => Refusal;
  readonly bodyNotJson: () => Refusal;
  createRequestId(services: Services): string;
  /** The headers of every response of an operation. */
  headersOf(requestId: string, milliseconds: number): Readonly<Record<string, string>>;
  acceptedKeys(services: Services): readonly string[] | undefined;
  /** The code for a fault that has only a status. */
  codeForStatus(status: number): string;
  renderRefusal(refusal: Refusal, requestId: string): Response;
  renderNotFound(requestId: string, request: Request): Response;
}
