import { assert, bigInt, constantFrom, integer, oneof, property, string, tuple } from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, it } from "vitest";
import { isPublicAddress, readLiteralAddress } from "./public-address.js";

describe("isPublicAddress", () => {
  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "47.88.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2001:4860:4860::8888",
    "2400:3200::1",
    "2606:4700:4700::1111",
    "2a00:1450:4009::200e",
    "::ffff:8.8.8.8",
    "::ffff:808:808",
  ])("is true for %s", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ["this host", "0.0.0.0"],
    ["this network", "0.1.2.3"],
    ["a private network", "10.0.0.1"],
    ["a private network", "10.255.255.255"],
    ["carrier-grade NAT", "100.64.0.1"],
    ["carrier-grade NAT (Alibaba's metadata)", "100.100.100.200"],
    ["loopback", "127.0.0.1"],
    ["loopback", "127.255.255.254"],
    ["link-local (metadata of most clouds)", "169.254.169.254"],
    ["a private network", "172.16.0.1"],
    ["a private network", "172.31.255.255"],
    ["protocol assignments", "192.0.0.1"],
    ["documentation", "192.0.2.1"],
    ["documentation", "198.51.100.1"],
    ["documentation", "203.0.113.1"],
    ["6to4 relays", "192.88.99.1"],
    ["a private network", "192.168.1.1"],
    ["benchmarks", "198.18.0.1"],
    ["benchmarks", "198.19.255.255"],
    ["multicast", "224.0.0.1"],
    ["multicast", "239.255.255.255"],
    ["reserved", "240.0.0.1"],
    ["broadcast", "255.255.255.255"],
    ["no address", "::"],
    ["loopback", "::1"],
    ["loopback, as IPv4-compatible", "::127.0.0.1"],
    ["a private network, as IPv4-compatible", "::a00:1"],
    ["loopback, as IPv4-compatible", "::7f00:1"],
    ["loopback, mapped", "::ffff:127.0.0.1"],
    ["a private network, mapped", "::ffff:10.0.0.1"],
    ["a private network, mapped", "::ffff:a00:1"],
    ["metadata, mapped", "::ffff:169.254.169.254"],
    ["a private network, translated", "::ffff:0:10.0.0.1"],
    ["NAT64", "64:ff9b::10.0.0.1"],
    ["NAT64", "64:ff9b::808:808"],
    ["local NAT64", "64:ff9b:1::a00:1"],
    ["discard", "100::1"],
    ["Teredo", "2001::1"],
    ["Teredo", "2001:0:a00:1::"],
    ["benchmarks", "2001:2::1"],
    ["ORCHID", "2001:10::1"],
    ["ORCHIDv2", "2001:20::1"],
    ["documentation", "2001:db8::1"],
    ["documentation", "3fff::1"],
    ["6to4", "2002:a00:1::"],
    ["6to4", "2002:808:808::"],
    ["segment routing", "5f00::1"],
    ["a unique local address", "fc00::1"],
    ["a unique local address (AWS metadata)", "fd00:ec2::254"],
    ["link-local", "fe80::1"],
    ["link-local with a zone", "fe80::1%eth0"],
    ["site-local", "fec0::1"],
    ["multicast", "ff02::1"],
    ["not given out", "4000::1"],
    ["not given out", "1::1"],
    ["no address", ""],
    ["a name", "example.com"],
    ["junk", "1.2.3.4.5"],
    ["junk", "999.1.1.1"],
  ])("is false for %s: %s", (_what, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

/** All networks that ipaddr.js knows. A new version may know more of them. */
const NETWORKS = [ipaddr.IPv4, ipaddr.IPv6].flatMap((version) => {
  const one = version.parse(version === ipaddr.IPv4 ? "1.1.1.1" : "2606::1");
  const { SpecialRanges: ranges } = one as unknown as { SpecialRanges: Record<string, unknown[]> };
  return Object.values(ranges).flatMap((range) => (Array.isArray(range[0]) ? range : [range])) as [
    ipaddr.IPv4 | ipaddr.IPv6,
    number,
  ][];
});

/** The addresses at both ends of a network, and beside them. */
const EDGES = NETWORKS.flatMap(([first, length]) => {
  const bytes = first.toByteArray();
  const start = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const size = 1n << BigInt(bytes.length * 8 - length);
  return [start - 1n, start, start + size - 1n, start + size]
    .filter((address) => address >= 0n && address < 1n << BigInt(bytes.length * 8))
    .map((address) => write(address, bytes.length));
});

function write(address: bigint, length: number): string {
  const bytes = Array.from({ length }, (_, at) => Number((address >> BigInt(8 * (length - 1 - at))) & 255n));
  return ipaddr.fromByteArray(bytes).toString();
}

function isPublicByIpaddr(address: string): boolean {
  const parsed = ipaddr.process(address);
  const isAssigned = parsed instanceof ipaddr.IPv4 || parsed.match(ipaddr.IPv6.parse("2000::"), 3);
  return isAssigned && parsed.range() === "unicast";
}

describe("the networks", () => {
  it("are those of ipaddr.js", () => {
    expect(NETWORKS.length).toBeGreaterThan(35);
    const differing = EDGES.filter((address) => isPublicAddress(address) !== isPublicByIpaddr(address));
    expect(differing).toEqual([]);
  });

  it("have the same addresses as those of ipaddr.js", () => {
    const ipv4 = integer({ min: 0, max: 0xffff_ffff }).map((address) => write(BigInt(address), 4));
    const ipv6 = tuple(
      constantFrom(0n, 0x2001n, 0x2002n, 0x2620n, 0x3fffn, 0xfe80n),
      bigInt(0n, (1n << 112n) - 1n),
    ).map(([head, rest]) => write((head << 112n) | rest, 16));
    const mapped = ipv4.map((address) => `::ffff:${address}`);
    assert(
      property(
        oneof(ipv4, ipv6, mapped),
        (address) => isPublicAddress(address) === isPublicByIpaddr(address),
      ),
      { numRuns: 2_000 },
    );
  });

  it("have no address that ends with one colon", () => {
    expect(["2606::1:", "2606:25::fe80:", "2606::"].filter(isPublicAddress)).toEqual(["2606::"]);
  });

  it("have no address that is not one", () => {
    assert(
      property(
        oneof(
          string(),
          string({
            unit: constantFrom("0", "1", "25", "7f", "fe80", "2606", ":", "::", ".", "[", "]", "/", "%"),
          }),
        ),
        (text) => {
          expect(isPublicAddress(text) && !ipaddr.isValid(text)).toBe(false);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("readLiteralAddress", () => {
  it.each([
    ["http://127.0.0.1", "127.0.0.1"],
    ["http://127.1", "127.0.0.1"],
    ["http://0x7f.1", "127.0.0.1"],
    ["http://0177.0.0.1", "127.0.0.1"],
    ["http://2130706433", "127.0.0.1"],
    ["http://0x7f000001", "127.0.0.1"],
    ["http://127.0.0.1.", "127.0.0.1"],
    ["http://①②⑦.0.0.1", "127.0.0.1"],
    ["http://[::1]", "::1"],
    ["http://[0:0:0:0:0:0:0:1]", "::1"],
    ["http://[::ffff:10.0.0.1]", "::ffff:a00:1"],
    ["http://user:key@169.254.169.254:80/x", "169.254.169.254"],
    ["http://0", "0.0.0.0"],
  ])("finds in %s the address %s", (url, address) => {
    expect(readLiteralAddress(new URL(url).hostname)).toBe(address);
  });

  it.each(["localhost", "localhost.", "example.com", "127.0.0.1.nip.io", "1e100.net", "xn--fiq.cn"])(
    "finds none in the name %s",
    (name) => {
      expect(readLiteralAddress(name)).toBeUndefined();
    },
  );
});
