import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "@calotype/core";
import { type HostRequest, toGatewayRequest } from "./node-request.js";
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
  const handled = gateway.handle(toGatewayRequest(req, res, host));
  return handled && handled.then((response) => sendResponse(req, res, response));
}
