import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";

/** What decides whether a response may be compressed. `encodesResponses`: the host compresses every response itself. */
export type EncodingRequest = Pick<GatewayRequest, "headers" | "encodesResponses">;

/** Whether the client takes gzip, and the host leaves it to us. */
export function takesGzip({ headers, encodesResponses = false }: EncodingRequest): boolean {
  return (
    !encodesResponses &&
    /(?:^|,)\s*(?:gzip|\*)\s*(?!;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(headers.get("accept-encoding") ?? "")
  );
}

/** Below this, compressing saves less than a packet of the network. In UTF-16 units. */
const MIN_LENGTH = 1_400;

/** Compresses a response that is a long string, such as a report. Others stay as they are. */
export async function compress(
  response: GatewayResponse,
  request: EncodingRequest,
): Promise<GatewayResponse> {
  const { body, headers } = response;
  if (typeof body !== "string" || body.length < MIN_LENGTH || !takesGzip(request)) return response;
  const stream = new Blob([body]).stream().pipeThrough(new CompressionStream("gzip"));
  return {
    ...response,
    headers: { ...headers, "content-encoding": "gzip", vary: "accept-encoding" },
    body: new Uint8Array(await new Response(stream).arrayBuffer()),
  };
}
