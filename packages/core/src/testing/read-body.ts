import { text } from "node:stream/consumers";
import type { GatewayResponseBody } from "../http.js";

/** Reads the body of a gateway's response as JSON. */
export async function readJsonBody(body: GatewayResponseBody): Promise<unknown> {
  const isComplete = typeof body === "string" || body instanceof Uint8Array;
  return JSON.parse(isComplete ? await new Response(body).text() : await text(body));
}
