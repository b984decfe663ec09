import type { Gateway } from "@calotype/core";

/** A runtime that serves gateways on a socket of this machine. */
export interface Host {
  /** Its name and version, such as `Bun 1.4.5`. */
  readonly runtime: string;
  /** Which way to the providers its `imports` condition leads to. */
  readonly transport: "undici" | "fetch";
  /** Where it listens. */
  readonly origin: string;
  /** What it serves, by the first segment of the path: `/c1/v1/images/generations` is that of `c1`. */
  readonly gateways: Map<string, Gateway>;
  /** Why it cannot do what a check asks for, by the check's name. */
  readonly cannot: Readonly<Record<string, string>>;
}

/** The gateway that a path belongs to; without one, one that responds with 404. */
export function findGateway(gateways: ReadonlyMap<string, Gateway>, url: string): Gateway | undefined {
  const { pathname } = new URL(url, "http://localhost");
  return gateways.get(pathname.split("/")[1] ?? "") ?? gateways.values().next().value;
}
