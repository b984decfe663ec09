import type { JsonObject } from "../../util/json.js";
import document from "./openapi.json" with { type: "json" };

/**
 * The OpenAPI 3.1 description of the gateway, without `servers`: the gateway adds the path below which it serves the
 * document. Pass it as the option `openapi` on Cloudflare Workers, or with changes of your own anywhere.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { openApiDocument } from "@calotype/core/openapi";
 *
 * const gateway = createGateway({
 *   models: { "seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   openapi: { ...openApiDocument, servers: [{ url: "https://images.example.com" }] },
 * });
 * ```
 */
export const openApiDocument: JsonObject = document;
