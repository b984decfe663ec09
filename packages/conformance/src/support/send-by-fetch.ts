import type { Gateway } from "@calotype/core";
import type { Call, ReadResponse } from "./http-client.js";

/** Sends a request to `gateway.fetch`, without a server. */
export async function sendByFetch(gateway: Gateway, call: Call): Promise<ReadResponse> {
  const response = await gateway.fetch(toRequest(call));
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  };
}

function toRequest({ method = "POST", path, headers = {}, body }: Call): Request {
  const url = new URL(path, "http://gateway.test");
  if (body === undefined || typeof body === "string")
    return new Request(url, { method, headers, body: body ?? null });
  if (body instanceof Uint8Array) return new Request(url, { method, headers, body: new Uint8Array(body) });
  const stream = ReadableStream.from(body).pipeThrough(new TextEncoderStream());
  return new Request(url, { method, headers, body: stream, duplex: "half" });
}
