import type { GatewayResponse } from "../exchange.js";
import { type AnswerContext, toAnswerHeaders } from "./answer-headers.js";

/** The head of a relayed stream, with what keeps proxies from holding events back. */
export function renderStream(body: AsyncIterable<Uint8Array>, context: AnswerContext): GatewayResponse {
  return {
    status: 200,
    headers: {
      ...toAnswerHeaders("text/event-stream; charset=utf-8", context),
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
    body,
  };
}
