import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "@calotype/core";
import { checkMounted, type MountOptions, readMountOptions } from "@calotype/core/adapter";
import { handleNodeRequest } from "./handle-node-request.js";
import { NodeRequest, readMountPath } from "./node-request.js";
import { sendResponse } from "./send-response.js";

/** A request listener of `node:http`; with `next` also a middleware of Connect and its kin. */
export type NodeHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Mounts a gateway on a plain `node:http` server. A request for a path that is not the gateway's goes to `next`; if
 * there is no `next`, the response is a 404.
 *
 * @param options `caller` finds the app's own signed-in users in a request, see `MountOptions`
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createGateway } from "@calotype/core";
 * import { toNodeHandler } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * createServer(toNodeHandler(gateway)).listen(8787);
 * ```
 */
export function toNodeHandler(
  gateway: Pick<Gateway, "handle" | "notFound">,
  options: MountOptions<IncomingMessage> = {},
): NodeHandler {
  checkMounted(gateway, "toNodeHandler");
  const caller = readMountOptions(options, "toNodeHandler");
  return (req, res, next) => {
    // Without `next` the server has no routes of its own.
    const host =
      next === undefined ? { mountPath: "/" } : readMountPath(req.url ?? "/", readOriginalUrl(req));
    const findUser = caller && (() => caller(req));
    const handled = handleNodeRequest(gateway, req, res, findUser ? { ...host, findUser } : host);
    if (handled === null && next !== undefined) return next();
    const sent = handled ?? sendNotFound(gateway, req, res);
    sent.catch((error: unknown) => (next === undefined ? res.destroy() : next(error)));
  };
}

/** Connect and similar frameworks keep the whole path here when they remove a mount path from `url`. */
function readOriginalUrl(req: IncomingMessage & { readonly originalUrl?: unknown }): string | undefined {
  return typeof req.originalUrl === "string" ? req.originalUrl : undefined;
}

async function sendNotFound(
  gateway: Pick<Gateway, "notFound">,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  await sendResponse(req, res, gateway.notFound(new NodeRequest(req, res, {})));
}
