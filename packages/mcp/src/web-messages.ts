import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";

/** The headers that the SDK reads. It gets no key. */
const READ_HEADERS = ["accept", "mcp-protocol-version", "mcp-method", "mcp-name"];

/** Converts a request whose body has been read. */
export function toWebRequest({ headers }: Pick<GatewayRequest, "headers">): Request {
  const read = READ_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return new Request("http://gateway/mcp", {
    method: "POST",
    headers: Object.fromEntries([...read, ["content-type", "application/json"]]),
  });
}

/** Converts a response of the SDK: a stream of events, or short JSON. */
export async function toGatewayResponse(response: Response, id: string): Promise<GatewayResponse> {
  const { status, body } = response;
  // It is not for HTTP/2.
  const { connection: _connection, ...headers } = Object.fromEntries(response.headers);
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  return {
    status,
    headers: { "cache-control": "no-store", ...headers, "x-request-id": id },
    body: isStream && body !== null ? readChunks(body) : await response.text(),
  };
}

/**
 * The chunks of a stream. The stream's own iterator would end only after the next chunk, for which a client that has left need not
 * wait.
 */
function readChunks(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done, value };
      },
      async return() {
        await reader.cancel();
        return { done: true, value: undefined };
      },
    }),
  };
}
