import type { Gateway } from "@calotype/core";
import { checkMounted, type MountOptions, readMountOptions } from "@calotype/core/adapter";
import { handleNodeRequest } from "@calotype/node";
import type { Request, RequestHandler } from "express";

/**
 * Mounts a gateway in an Express app, version 4 or 5, at any path and in any way (`app.use`, `app.all`, a router).
 * Requests for other paths go to the next handler. Mount it before any body parser if you can; it also accepts what a
 * JSON parser before it has left.
 *
 * @param gateway the gateway, or a studio
 * @param options `caller` finds the app's own signed-in users in a request, see `MountOptions`
 * @returns a handler for `app.use`
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { toExpressHandler } from "@calotype/express";
 * import express from "express";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const app = express();
 * app.use(toExpressHandler(gateway));
 * app.listen(8787);
 * ```
 */
export function toExpressHandler(
  gateway: Pick<Gateway, "handle">,
  options: MountOptions<Request> = {},
): RequestHandler {
  checkMounted(gateway, "toExpressHandler");
  const caller = readMountOptions(options, "toExpressHandler");
  return (req, res, next) => {
    const handled = handleNodeRequest(gateway, req, res, {
      url: req.baseUrl + req.url,
      mountPath: req.baseUrl || undefined,
      isEncrypted: req.secure,
      parsedBody: req.body,
      findUser: caller && (() => caller(req)),
    });
    if (handled === null) next();
    else handled.catch(next);
  };
}
