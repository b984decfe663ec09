import type { Route } from "../channels/channel.js";
import type { UpstreamCall } from "../families/upstream-call.js";
import { toFormBody } from "../images/form-body.js";
import { toJsonBody } from "../images/json-body.js";
import type { TransportRequest } from "./transport.js";

/**
 * Makes the request to the provider from a call that a family describes: with the channel's address, key and headers, and
 * with the body as bytes.
 *
 * @throws Error if the call goes to a host that is not the channel's own
 */
export function writeCall(route: Pick<Route, "channel" | "key">, call: UpstreamCall): TransportRequest {
  const { channel, key } = route;
  const { method, body, headers } = call;
  const target = {
    method,
    url: channel.toUrl(call),
    timeouts: channel.timeouts,
    route: key.isLate ? route : undefined,
  };
  if (body === undefined || typeof body === "string" || Symbol.asyncIterator in body) {
    return { ...target, headers: key.toHeaders(headers), body };
  }
  if ("json" in body) {
    return { ...target, headers: key.toJsonHeaders(headers), body: toJsonBody(body.json) };
  }
  const form = toFormBody(body.form);
  // No header of the channel may replace the boundary.
  return {
    ...target,
    headers: { ...key.toHeaders(headers), "content-type": form.contentType },
    body: form.body,
  };
}
