import { readLimited } from "../http/read-limited.js";
import { isKept, providerOfLink, serveLink } from "../links/serve.js";
import type { ProviderCall } from "../provider.js";
import type { Services } from "../services.js";
import { BadReference } from "./bad-reference.js";

const timeoutMs = 10_000;

/** Opens links of this machine, and nothing else: the emulator is never a way into somebody's network. */
export function downloadFor(call: ProviderCall, services: Services) {
  return async (url: URL, maxBytes: number): Promise<Buffer | undefined> => {
    const owner = providerOfLink(url.pathname);
    const isOwn = url.origin === call.origin || isKept(url, services);
    if (owner !== undefined && isOwn)
      return readImage(await serveLink(new Request(url), owner, services), maxBytes);
    if (!isLoopback(url.hostname)) return undefined;
    return readImage(await openLoopback(url, call.request.signal), maxBytes);
  };
}

async function openLoopback(url: URL, clientLeft: AbortSignal): Promise<Response> {
  const signal = AbortSignal.any([clientLeft, AbortSignal.timeout(timeoutMs)]);
  try {
    return await fetch(url, { signal, redirect: "error" });
  } catch {
    throw new BadReference("unreachable");
  }
}

async function readImage(response: Response, maxBytes: number): Promise<Buffer> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new BadReference("unreachable");
  }
  const bytes = await readLimited(response.body, maxBytes);
  if (bytes === undefined) throw new BadReference("too-large");
  return bytes;
}

/** By the address as written; a name that merely resolves to this machine does not count. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
