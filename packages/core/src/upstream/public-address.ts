import { isValid, process as parseAddress } from "ipaddr.js";

/** True for an IP address of the public internet: not loopback, private, link-local, reserved or a tunnel into them. */
export function isPublicAddress(address: string): boolean {
  return isValid(address) && parseAddress(address).range() === "unicast";
}

/** The IP address that a URL's host is written as, or `undefined` when it is a name. */
export function readLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isValid(bare) ? bare : undefined;
}
