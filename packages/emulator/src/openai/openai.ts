import { readBearerKey, readKeyHeader } from "../http/read-key.js";
import { jsonResponse } from "../http/responses.js";
import type { Operation, Provider } from "../provider.js";
import type { ProviderCall } from "../provider-call.js";
import { randomHex } from "../random.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { codeForStatus } from "./error-codes.js";
import { errorsOf, type OpenaiService, openaiRefusal, renderOpenaiRefusal } from "./errors.js";
import { respondWith } from "./generation.js";

/** OpenAI's images API. */
export const openai: Provider = {
  ...commonOf("openai"),
  basePaths: ["/openai/v1/"],
  operations: operationsAt("", "openai"),
  wrongKey: () => openaiRefusal("invalid_api_key"),
  renderNotFound: (_requestId, request) => {
    const message = `Invalid URL (${request.method} ${new URL(request.url).pathname.replace(/^\/openai/, "")})`;
    return jsonResponse({ error: { message, type: "invalid_request_error", param: null, code: null } }, 404);
  },
};

/**
 * Azure OpenAI: the v1 paths, where `model` is the name of a deployment, and the old paths with the deployment in the
 * path. A deployment may have any name. One that is not the name of a model makes images like `gpt-image-2`.
 */
export const azure: Provider = {
  ...commonOf("azure"),
  basePaths: ["/azure/openai/"],
  operations: [
    ...operationsAt("v1\\/", "azure"),
    ...operationsAt("deployments\\/(?<model>[^/]+)\\/", "azure").map(withApiVersion),
  ],
  readKey: (request) => readKeyHeader(request, "api-key") ?? readBearerKey(request),
  wrongKey: () => new Refusal({ code: "401" }),
  renderNotFound: () => jsonResponse({ error: { code: "404", message: "Resource not found" } }, 404),
};

function commonOf(service: OpenaiService) {
  return {
    name: service,
    bodyTooLarge: () => openaiRefusal("invalid_value", "The request body is too large."),
    bodyNotJson: () =>
      openaiRefusal(
        "invalid_value",
        "We could not parse the JSON body of your request, or the form of an edit.",
      ),
    createRequestId: ({ random }: Services) => `req_${randomHex(random, 32)}`,
    headersOf,
    acceptedKeys: ({ settings }: Services) => settings.apiKeys?.[service],
    codeForStatus: (status: number) => codeForStatus(errorsOf(service), status),
    renderRefusal: (refusal: Refusal, requestId: string) => renderOpenaiRefusal(refusal, service, requestId),
  } as const;
}

function operationsAt(folder: string, service: OpenaiService): Operation[] {
  return [
    {
      kind: "generation",
      method: "POST",
      path: new RegExp(`^${folder}images\\/generations$`),
      respond: respondWith("generation", service),
    },
    {
      kind: "edit",
      method: "POST",
      path: new RegExp(`^${folder}images\\/edits$`),
      // Azure is not known to take edits as JSON.
      body: service === "azure" ? "form" : "json-or-form",
      respond: respondWith("edit", service),
    },
  ];
}

/** The old paths of Azure do not exist without `api-version`. */
function withApiVersion(operation: Operation): Operation {
  return {
    ...operation,
    respond: async (call: ProviderCall, services: Services) => {
      if (!new URL(call.request.url).searchParams.has("api-version")) throw new Refusal({ code: "404" });
      return operation.respond(call, services);
    },
  };
}

/** The emulator has no rate limits. The numbers are those of the first request of a minute. */
function headersOf(requestId: string, milliseconds: number): Record<string, string> {
  return {
    "x-request-id": requestId,
    "openai-processing-ms": String(milliseconds),
    "openai-organization": "org-emulator",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms",
    "x-ratelimit-limit-tokens": "2000000",
    "x-ratelimit-remaining-tokens": "1999000",
    "x-ratelimit-reset-tokens": "6m0s",
  };
}
