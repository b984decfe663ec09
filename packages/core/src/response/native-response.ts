import type { GatewayResponse } from "../exchange.js";
import { type ResponseContext, toResponseHeaders } from "./answer-headers.js";

/** The answer of `/api/v3`: the provider's own text. */
export function renderNative(text: string, context: ResponseContext): GatewayResponse {
  return {
    status: 200,
    headers: toResponseHeaders("application/json", context),
    body: text,
  };
}
