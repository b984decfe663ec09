import type { GatewayResponse } from "../exchange.js";
import { type ResponseContext, toResponseHeaders } from "./answer-headers.js";

/** The head of a relayed stream, with what keeps proxies from holding events back. */
export function renderStream(body: AsyncIterable<Uint8Array>, context: ResponseContext): GatewayResponse {
  return {
    status: 200,
    headers: {
      ...toResponseHeaders("text/event-stream; charset=utf-8", context),
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
    body,
  };
}
