import type { GatewayRequest } from "@calotype/core/adapter";

/** Why a request may have come from another machine. */
export type LocalRefusal = "production" | "no-address" | "remote" | "host" | "http-1.0" | "forwarded";

/** Headers that proxies and tunnels add. */
const OF_PROXIES =
  /^(?:(?:x-)?forwarded(?:-.*)?|via|x-(?:real|original|proxy|cluster)-.*|x-(?:scheme|host|varnish)|(?:.*-)?client-ip|front-end-https|(?:x-)?(?:cf|cdn|cloud|akamai|fly|fastly|ngrok|tailscale|vercel|nf|envoy|amzn|azure|arr|appengine)-.*)$/i;

/**
 * Returns why a request may have come from another machine, or through a page of another site. A proxy on this machine
 * connects from a loopback address too. Most add a header or, like nginx, send HTTP/1.0. One that does neither cannot be recognized,
 * so a request also needs a session.
 */
export function findLocalRefusal(request: GatewayRequest): LocalRefusal | undefined {
  if (isProduction()) return "production";
  const { headers, httpVersion } = request;
  const address = request.clientAddress?.();
  if (address === undefined || headers.keys === undefined) return "no-address";
  if (!isLoopback(address)) return "remote";
  if (!readHosts(request).every(isLocalHost)) return "host";
  // Browsers send HTTP/1.1 or later.
  if (httpVersion !== undefined && !(Number.parseFloat(httpVersion) >= 1.1)) return "http-1.0";
  for (const name of headers.keys()) {
    if (OF_PROXIES.test(name)) return "forwarded";
  }
  return undefined;
}

export function isProduction(): boolean {
  try {
    return globalThis.process?.env["NODE_ENV"] === "production";
  } catch {
    // Deno throws here if the app may not read the variable.
    return false;
  }
}

/** Whether an IP address is one of this machine itself. `::ffff:` is IPv4 on a socket of IPv6. */
function isLoopback(address: string): boolean {
  const ip = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
  return (
    ip === "::1" || (/^127(?:\.\d{1,3}){3}$/.test(ip) && ip.split(".").every((part) => Number(part) < 256))
  );
}

/** The header `Host`, and then the host of an absolute URL, which replaces it (RFC 9112, section 3.2.2). */
export function readHosts({ headers, url }: Pick<GatewayRequest, "headers" | "url">): readonly string[] {
  const host = headers.get("host") ?? "";
  const match = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url);
  return match === null ? [host] : [host, match[1] ?? ""];
}

/** Whether a `Host` header names this machine. Any other name may be a site that resolves to a loopback address. */
export function isLocalHost(host: string): boolean {
  const match = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host);
  if (match === null) return false;
  const [, ipv6, name = ""] = match;
  return ipv6 === undefined ? name.toLowerCase() === "localhost" || isLoopback(name) : isLoopback(ipv6);
}
