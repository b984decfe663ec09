import type { ReadResponse } from "./http-client.js";

/** Headers that a server adds to every response. */
const OF_THE_SERVER: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-powered-by",
]);

/**
 * The part of a response that is the same on every host: without the server's own headers, with ids, times
 * and links masked.
 */
export function toComparable({ status, headers, text }: ReadResponse): ReadResponse {
  const ours = Object.entries(headers).filter(([name]) => !OF_THE_SERVER.has(name));
  return {
    status,
    headers: Object.fromEntries(ours.map(([name, value]) => [name, maskVariable(value)])),
    text: maskVariable(text),
  };
}

function maskVariable(text: string): string {
  return text
    .replaceAll(/req_[\da-f]{32}/g, "<our id>")
    .replaceAll(/max-age=\d+/g, "max-age=<seconds>")
    .replaceAll(/"(created(?:_at)?)":\d{2,}/g, '"$1":<time>')
    .replaceAll(/"(url|image)":"http[^"]+"/g, '"$1":"<link>"')
    .replaceAll(/"((?:upstream_)?request_id)":"[^"]+"/g, '"$1":"<provider\'s id>"')
    .replaceAll(/Request id: \w+/g, "Request id: <provider's id>");
}
