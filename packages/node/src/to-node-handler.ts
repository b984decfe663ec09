import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "@calotype/core";
import { handleNodeRequest } from "./handle-node-request.js";
import { sendResponse } from "./send-response.js";

/** A request listener of `node:http`; with `next` also a middleware of Connect and its kin. */
export type NodeHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * Mounts a gateway on a plain `node:http` server. A path that is not the gateway's goes to `next`
 * where there is one, and is answered with 404 where there is none.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createGateway } from "@calotype/core";
 * import { toNodeHandler } from "@calotype/node";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   apiKeys: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * createServer(toNodeHandler(gateway)).listen(8787);
 * ```
 */
export function toNodeHandler(gateway: Pick<Gateway, "handle" | "notFound">): NodeHandler {
  return (req, res, next) => {
    const handled = handleNodeRequest(gateway, req, res);
    if (handled === null && next !== undefined) return next();
    const sent = handled ?? answerNotFound(gateway, req, res);
    sent.catch((error: unknown) => (next === undefined ? res.destroy() : next(error)));
  };
}

async function answerNotFound(
  gateway: Pick<Gateway, "notFound">,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  await sendResponse(req, res, gateway.notFound());
}
