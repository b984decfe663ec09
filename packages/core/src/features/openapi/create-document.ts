import { ERROR_RESPONSES, EVERY, error, HEADERS, headers, PARAMETERS } from "./components.js";
import { CONVERTED_PATHS, CONVERTED_SCHEMAS } from "./converted-paths.js";
import { PATHS } from "./paths.js";
import { createEditSchemas, createRequestSchemas, type JsonSchema } from "./request-schemas.js";
import { createResponseSchemas, ref } from "./response-schemas.js";

/** Creates the OpenAPI description of the gateway, from the validators of requests and the schemas of responses. */
export function createOpenApiDocument(version: string): JsonSchema {
  return {
    openapi: "3.1.0",
    info: {
      title: "Image generation and editing",
      version,
      summary: "Images from text and from reference images.",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: "Images", description: "Make and edit images." },
      { name: "Models", description: "Which models a key may use, and what they can do." },
      { name: "Tasks", description: "Requests whose response is fetched later." },
      { name: "Native", description: "The providers' own structures." },
      { name: "Other interfaces", description: "What clients of other services send." },
      { name: "Server", description: "What the server says about itself. These paths need no key." },
    ],
    paths: { ...PATHS, ...CONVERTED_PATHS },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "The caller's key." },
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "api-key",
          description: "Read if there is no `Authorization`.",
        },
        googleKey: {
          type: "apiKey",
          in: "header",
          name: "x-goog-api-key",
          description: "The caller's key, as Google's SDKs send it.",
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: {
        ...ERROR_RESPONSES,
        ProviderError: error("An error of the provider with a status of its own.", "Error"),
        NativeError: error("An error of Ark, or of the gateway.", "NativeError"),
        DashScopeError: error("An error of DashScope, or of the gateway.", "DashScopeError"),
        GeminiError: error("An error in Google's shape.", "GeminiErrorBody"),
        FileError: {
          description:
            "Codes: `file_not_found`, `method_not_allowed`, `file_expired`, `range_not_satisfiable`, `internal_error`, `gateway_unavailable`, `gateway_closed`.",
          headers: headers([
            ...EVERY,
            "retry-after",
            "allow",
            "content-range",
            "access-control-allow-origin",
            "cross-origin-resource-policy",
          ]),
          content: { "application/json": { schema: ref("Error") } },
        },
      },
      schemas: {
        ...createRequestSchemas(),
        ...createEditSchemas(),
        ...createResponseSchemas(),
        ...CONVERTED_SCHEMAS,
      },
    },
  };
}

const DESCRIPTION = `OpenAI's clients work with \`{server}/v1\` as their base address.

Fields of requests that are not listed are forwarded to the provider or named in the header \`x-calotype-ignored\`. A field that is \`null\` counts as absent, except in the native structures. HEAD is accepted wherever GET is.

A server may leave out what its operator did not turn on: tasks, stored files, \`/healthz\`. Such a path is a 404.`;
