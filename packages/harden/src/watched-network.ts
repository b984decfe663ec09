import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import tls from "node:tls";
import { toRecord } from "./to-record.ts";

/** Replaces the resolver and the connections of this process. No connection leaves the machine. */
export interface WatchedNetwork {
  /** Sets the results of lookups. The first lookup gets the first list, and so on; the last list repeats. */
  resolveTo(addresses: readonly (readonly string[])[]): void;
  /** Returns the addresses of connections since the last time. A connection to `ownPort` counts only if it uses TLS. */
  takeConnections(): readonly string[];
  restore(): void;
}

/** Allows connections to `ownPort` of 127.0.0.1. Notes and refuses all others. */
export function watchNetwork(ownPort: number): WatchedNetwork {
  const { lookup } = dns;
  const connect = Reflect.get(net.Socket.prototype, "connect");
  let results: (readonly string[])[] = [];
  let connections: string[] = [];
  Reflect.set(dns, "lookup", (hostname: string, options: unknown, callback: unknown) => {
    const addresses = results.length > 1 ? results.shift() : results[0];
    const found = (addresses ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const error = found.length === 0 ? new Error(`getaddrinfo ENOTFOUND ${hostname}`) : null;
    const isAll = toRecord(options)["all"] === true;
    const values = isAll ? [error, found] : [error, found[0]?.address, found[0]?.family];
    setImmediate(() => Reflect.apply(toFunction(callback), undefined, values));
  });
  syncBuiltinESMExports();
  Reflect.set(net.Socket.prototype, "connect", function connectWatched(this: net.Socket, ...args: unknown[]) {
    const options = toRecord(Array.isArray(args[0]) ? args[0][0] : args[0]);
    const { host = "localhost" } = options;
    if (typeof host !== "string") throw new TypeError("A connection without a host.");
    const isOwn = host === "127.0.0.1" && Number(options["port"]) === ownPort;
    if (isOwn && !(this instanceof tls.TLSSocket)) return Reflect.apply(connect, this, args);
    const refuse = (error?: Error | null): void => {
      this.destroy(error ?? new Error("connect ECONNREFUSED"));
    };
    if (net.isIP(host) !== 0) {
      connections.push(host);
      setImmediate(refuse);
      return this;
    }
    const resolve = toFunction(options["lookup"] ?? dns.lookup);
    const onResolved = (error: Error | null, found: unknown): void => {
      if (Array.isArray(found)) connections.push(...found.map((entry) => String(toRecord(entry)["address"])));
      refuse(error);
    };
    Reflect.apply(resolve, undefined, [host, { all: true }, onResolved]);
    return this;
  });
  return {
    resolveTo(addresses) {
      results = [...addresses];
    },
    takeConnections() {
      const taken = connections;
      connections = [];
      return taken;
    },
    restore() {
      Reflect.set(dns, "lookup", lookup);
      syncBuiltinESMExports();
      Reflect.set(net.Socket.prototype, "connect", connect);
    },
  };
}

function toFunction(value: unknown): (...args: unknown[]) => unknown {
  if (typeof value !== "function") throw new TypeError("Not a function.");
  return (...args) => Reflect.apply(value, undefined, args);
}

/** Addresses that are not public, by the registries of IANA. A second list, independent of the one in the gateway. */
const NOT_PUBLIC = new net.BlockList();
const SUBNETS_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];
/** Exceptions in 2000::/3, the assigned part of IPv6, and tunnels to IPv4 addresses. */
const SUBNETS_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
for (const subnet of SUBNETS_V4) NOT_PUBLIC.addSubnet(...split(subnet), "ipv4");
for (const subnet of SUBNETS_V6) NOT_PUBLIC.addSubnet(...split(subnet), "ipv6");
const ASSIGNED_V6 = new net.BlockList();
ASSIGNED_V6.addSubnet("2000::", 3, "ipv6");

function split(subnet: string): [string, number] {
  const [address = "", bits] = subnet.split("/");
  return [address, Number(bits)];
}

/** True for an address of the public internet. */
export function isPublic(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  if (net.isIPv4(bare)) return !NOT_PUBLIC.check(bare, "ipv4");
  return net.isIPv6(bare) && ASSIGNED_V6.check(bare, "ipv6") && !NOT_PUBLIC.check(bare, "ipv6");
}
