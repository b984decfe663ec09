import ipaddr from "ipaddr.js";

/** True for an IP address of the public internet: not loopback, private, link-local, reserved or a tunnel into them. */
export function isPublicAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === "unicast";
}

/** The IP address that a URL's host is written as, or `undefined` when it is a name. */
export function readLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(bare) ? bare : undefined;
}
