import type { GatewayResponse } from "../exchange.js";
import { type AnswerContext, toAnswerHeaders } from "./answer-headers.js";

/** The answer of `/api/v3`: the provider's own text. */
export function renderNative(text: string, context: AnswerContext): GatewayResponse {
  return {
    status: 200,
    headers: toAnswerHeaders("application/json", context),
    body: text,
  };
}
