import type { GatewayRequest } from "@calotype/core/adapter";
import type { Role } from "./wire.js";

/** A request as {@link Authorize} gets it: without its body. A Web `Request` has these fields too. */
export interface StudioRequest {
  readonly method: string;
  /** The whole path with its query, absolute or from the root. */
  readonly url: string;
  /** Reads headers by name, such as `headers.get("cookie")`. */
  readonly headers: GatewayRequest["headers"];
  /** Returns the address at the other end of the socket, if the host knows it. Behind a proxy it is that of the proxy. */
  clientAddress?(): string | undefined;
}

/** Your own check of who may open the studio. Anything but `"viewer"` and `"admin"` refuses the request. */
export type Authorize = (
  request: StudioRequest,
) => Role | false | null | undefined | Promise<Role | false | null | undefined>;

/** Why a request is refused: `denied` by `authorize`, or it may have come from another machine. */
export type Refusal = "denied" | "production" | "no-address" | "remote" | "host" | "forwarded";

/** Who sent a request. */
export type Access =
  | { readonly role: Role; readonly access: "authorize" | "local" }
  | { readonly refusal: Refusal };

/** Finds out what the sender of a request may do. Rejects if `authorize` fails. */
export async function findAccess(request: StudioRequest, authorize: Authorize | undefined): Promise<Access> {
  if (authorize === undefined) {
    const refusal = findLocalRefusal(request);
    return refusal === undefined ? { role: "admin", access: "local" } : { refusal };
  }
  const role = await authorize(request);
  return role === "admin" || role === "viewer" ? { role, access: "authorize" } : { refusal: "denied" };
}

/** Headers that proxies and tunnels add. */
const OF_PROXIES =
  /^(?:(?:x-)?forwarded(?:-.*)?|via|x-real-.*|x-original-.*|(?:.*-)?client-ip|(?:cf|cdn|fly|fastly|ngrok|x-(?:envoy|amzn|azure|arr|appengine))-.*)$/i;

/**
 * Returns why a request may have come from another machine, or through a page of another site. A proxy on this machine
 * connects from a loopback address too. Most add a header. One that adds none cannot be recognized, because the remote client
 * chooses `Host`: so an app in production needs `authorize`.
 */
function findLocalRefusal(request: StudioRequest): Refusal | undefined {
  if (isProduction()) return "production";
  const { headers } = request;
  const address = request.clientAddress?.();
  if (address === undefined || headers.keys === undefined) return "no-address";
  if (!isLoopback(address)) return "remote";
  const hosts = [headers.get("host") ?? "", ...readUrlHost(request.url)];
  if (!hosts.every(isLocalHost)) return "host";
  for (const name of headers.keys()) {
    if (OF_PROXIES.test(name)) return "forwarded";
  }
  return undefined;
}

function isProduction(): boolean {
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

/** The host of an absolute URL, which is the host of the request in place of the header (RFC 9112, section 3.2.2). */
function readUrlHost(url: string): readonly string[] {
  const match = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(url);
  return match === null ? [] : [match[1] ?? ""];
}

/** Whether a `Host` header names this machine. Any other name may be a site that resolves to a loopback address. */
function isLocalHost(host: string): boolean {
  const match = /^(?:\[([\da-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host);
  if (match === null) return false;
  const [, ipv6, name = ""] = match;
  return ipv6 === undefined ? name.toLowerCase() === "localhost" || isLoopback(name) : isLoopback(ipv6);
}
