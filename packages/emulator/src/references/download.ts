import { readLimited } from "../http/read-limited.js";
import { isStored, providerOfLink, serveLink } from "../links/links.js";
import type { ProviderCall } from "../provider-call.js";
import type { Services } from "../services.js";
import { BadReference } from "./bad-reference.js";

const timeoutMs = 10_000;

/** Downloads images from this machine only, so that the emulator is never a way into a network. */
export function downloadFor(call: ProviderCall, services: Services) {
  return async (url: URL, maxBytes: number): Promise<Buffer | undefined> => {
    const owner = providerOfLink(url.pathname);
    const isOwn = url.origin === call.origin || isStored(url, services);
    if (owner !== undefined && isOwn)
      return readImage(await serveLink(new Request(url), owner, services), maxBytes);
    if (!isLoopback(url.hostname)) return undefined;
    return readImage(await openLoopback(url, call.request.signal), maxBytes);
  };
}

async function openLoopback(url: URL, disconnected: AbortSignal): Promise<Response> {
  const signal = AbortSignal.any([disconnected, AbortSignal.timeout(timeoutMs)]);
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

/** Only the host in the link counts. A name that resolves to this machine does not. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
