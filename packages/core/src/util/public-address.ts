/**
 * The networks that are not part of the public internet: the special-purpose registries of IANA for IPv4 and IPv6 (RFC
 * 6890), as of November 2026, and multicast. The tests compare the lists with those of the package ipaddr.js.
 */
const SPECIAL_IPV4 = toPrefixes(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24",
  "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15",
  "198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
);
/** Only the part of {@link GLOBAL_UNICAST}. */
const SPECIAL_IPV6 = toPrefixes("2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20");

/** The IPv6 addresses that are assigned. */
const GLOBAL_UNICAST = toPrefixes("2000::/3");
/** IPv4 addresses written as IPv6. */
const MAPPED_IPV4 = toPrefixes("::ffff:0:0/96");

/** True for an IP address of the public internet: not loopback, private, link-local, reserved or a tunnel into them. */
export function isPublicAddress(address: string): boolean {
  const bits = toBits(address);
  if (bits === undefined) return false;
  const ipv4 = isWithin(bits, MAPPED_IPV4) ? bits.slice(-IPV4_BITS) : bits;
  if (ipv4.length === IPV4_BITS) return !isWithin(ipv4, SPECIAL_IPV4);
  return isWithin(bits, GLOBAL_UNICAST) && !isWithin(bits, SPECIAL_IPV6);
}

/**
 * Whether the host of a URL shows by itself that it is not public. The addresses of a name are checked when the connection
 * is made.
 */
export function isPlainlyPrivate(hostname: string): boolean {
  const literal = readLiteralAddress(hostname);
  return literal === undefined ? /(?:^|\.)localhost\.?$/.test(hostname) : !isPublicAddress(literal);
}

/** As {@link isPlainlyPrivate}, also for names of one part and names that only private networks have (RFC 6762, RFC 8375). */
export function isPrivateHost(hostname: string): boolean {
  return isPlainlyPrivate(hostname) || PRIVATE_NAME.test(hostname);
}

const PRIVATE_NAME = /^[^.:]*\.?$|\.(?:local|internal|home\.arpa)\.?$/;

/** Returns the IP address if a URL's host is one, and `undefined` if it is a name. */
export function readLiteralAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return toBits(bare) === undefined ? undefined : bare;
}

const IPV4_BITS = 32;

/** Writes an address as 32 or 128 digits 0 and 1, so that a network is the beginning of its addresses. */
function toBits(address: string): string | undefined {
  if (/^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/.test(address)) {
    const bytes = address.split(".").map(Number);
    return bytes.every((byte) => byte < 256) ? join(bytes, 8) : undefined;
  }
  // `URL` on Bun 1.4 accepts one colon at the end.
  const isHexadecimal = /^[\da-f:.]*:[\da-f:.]*$/i.test(address) && !/[^:]:$/.test(address);
  if (!isHexadecimal || !URL.canParse(`http://[${address}]`)) return undefined;
  // A URL has the short form in hexadecimal digits.
  const [head = [], tail = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return join([...head, ...zeros, ...tail], 16);
}

function join(numbers: readonly number[], bits: number): string {
  return numbers.map((number) => number.toString(2).padStart(bits, "0")).join("");
}

function toPrefixes(...lists: readonly string[]): readonly string[] {
  return lists
    .flatMap((list) => list.split(" "))
    .map((network) => {
      const [address = "", length] = network.split("/");
      return toBits(address)?.slice(0, Number(length)) ?? "";
    });
}

function isWithin(bits: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => bits.startsWith(prefix));
}
