import ipaddr from "ipaddr.js";

/** The IPv6 addresses that are assigned. IPv4 addresses written as IPv6 are outside of this range. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/** True for an IP address of the public internet: not loopback, private, link-local, reserved or a tunnel into them. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const isAssigned = !(parsed instanceof ipaddr.IPv6) || parsed.match(GLOBAL_UNICAST);
  return isAssigned && parsed.range() === "unicast";
}

/** Returns the IP address if a URL's host is one, and `undefined` if it is a name. */
export function readLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(bare) ? bare : undefined;
}
