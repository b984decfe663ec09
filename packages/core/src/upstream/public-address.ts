import ipaddr from "ipaddr.js";

/** `2000::/3`, all that is given out of IPv6. An IPv4 address in other clothes lies outside of it. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** True for an IP address of the public internet: not loopback, private, link-local, reserved or a tunnel into them. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const isGivenOut = !(parsed instanceof ipaddr.IPv6) || parsed.match(GLOBAL_UNICAST);
  return isGivenOut && parsed.range() === "unicast";
}

/** The IP address that a URL's host is written as, or `undefined` when it is a name. */
export function readLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(bare) ? bare : undefined;
}
