import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "@calotype/core";
import { type HostRequest, NodeRequest } from "./node-request.js";
import { sendResponse } from "./send-response.js";

/**
 * For adapters of frameworks over `node:http`: responds on the socket to a request for one of the gateway's paths. For
 * any other path it returns `null` at once and has read and written nothing.
 */
export function handleNodeRequest(
  gateway: Pick<Gateway, "handle">,
  req: IncomingMessage,
  res: ServerResponse,
  host: HostRequest = {},
): Promise<void> | null {
  const request = new NodeRequest(req, res, host);
  const handled = gateway.handle(request);
  if (handled === null) return null;
  // Listens before this function returns: if the host makes the request flow after that, its bytes would be lost.
  const body = request.body?.[Symbol.asyncIterator]();
  return handled.then((response) => {
    // Stops listening. Bytes that the gateway has not read are discarded.
    const left = req.readableEnded ? undefined : body?.return?.();
    return left === undefined
      ? sendResponse(req, res, response)
      : left.then(() => sendResponse(req, res, response));
  });
}
