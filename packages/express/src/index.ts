import type { Gateway } from "@calotype/core";
import { handleNodeRequest } from "@calotype/node";
import type { Request, RequestHandler } from "express";

/**
 * Mounts a gateway in an Express app, version 4 or 5. Paths that are not the gateway's go on to the
 * next handler. Best mounted before any body parser; a JSON parser before it is understood too.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { toExpressHandler } from "@calotype/express";
 * import express from "express";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   apiKeys: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const app = express();
 * app.use(toExpressHandler(gateway));
 * app.listen(8787);
 * ```
 */
export function toExpressHandler(gateway: Gateway): RequestHandler {
  return (req, res, next) => {
    const handled = handleNodeRequest(gateway, req, res, {
      url: readUrl(gateway, req),
      parsedBody: req.body,
    });
    if (handled === null) next();
    else handled.catch(next);
  };
}

/** A mount path counts as base path: it is taken off, unless the gateway expects just that path itself. */
function readUrl(gateway: Gateway, req: Request): string {
  return req.baseUrl !== "" && req.baseUrl === gateway.basePath ? req.originalUrl : req.url;
}
