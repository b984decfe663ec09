import { authorize, type Route, toLowerCaseNames } from "../channels/channel.js";
import { KeyError } from "../contract/key-source.js";
import type { Dialect } from "../families/dialect.js";
import { lendChunks } from "../images/lend-chunks.js";
import { sha256, sha256OfChunks } from "../util/sha256.js";
import type { Transport, TransportRequest, TransportResponse } from "./transport.js";

/**
 * Wraps a transport so that requests whose key is late get it when they are sent: a function returns the key, or the family signs.
 * All requests of channels pass here: those of attempts and those about jobs. `send` rejects with a KeyError if there is no key, or
 * the family cannot sign; then nothing was sent.
 *
 * @param now milliseconds since 1970
 */
export function addLateKeys(transport: Transport, now: () => number): Transport {
  return {
    send: (request) =>
      request.route === undefined
        ? transport.send(request)
        : sendWithKey(transport, request, request.route, now),
    download: (request) => transport.download(request),
    close: () => transport.close(),
    ...(transport.abort !== undefined && { abort: async () => transport.abort?.() }),
  };
}

function sendWithKey(
  transport: Transport,
  request: TransportRequest,
  { channel, key: { source, apiKey = "" } }: Pick<Route, "channel" | "key">,
  now: () => number,
): Promise<TransportResponse> {
  const send = async (key: string): Promise<TransportResponse> => {
    const ofKey = await authorizeCall(channel.dialect, key, request, now);
    return transport.send({ ...request, headers: { ...request.headers, ...ofKey } });
  };
  return source === undefined ? send(apiKey) : source.send(send);
}

async function authorizeCall(
  dialect: Dialect,
  key: string,
  { method = "POST", url, headers, body }: TransportRequest,
  now: () => number,
): Promise<Readonly<Record<string, string>>> {
  const bodySha256 = dialect.signs === "body" ? await digest(body) : undefined;
  try {
    if (dialect.signs === undefined) return authorize(dialect, key);
    const signed = await dialect.authorize?.(key, { method, url, headers, bodySha256, time: now() });
    return toLowerCaseNames(signed ?? {});
  } catch (cause) {
    throw new KeyError("The family of the channel could not add the key to the request.", { cause });
  }
}

function digest(body: TransportRequest["body"] = ""): string | Promise<string> {
  // A body is produced from the files of the client, once more for each reader.
  return typeof body === "string" ? sha256(body) : sha256OfChunks(lendChunks(body));
}
