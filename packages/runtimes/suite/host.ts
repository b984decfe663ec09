import type { Gateway } from "@calotype/core";

/** A gateway, or its studio, as a runtime serves it. */
export type Served = Pick<Gateway, "fetch" | "handle" | "notFound">;

/** A runtime that serves gateways on a loopback socket. */
export interface Host {
  /** Its name and version, such as `Bun 1.4.5`. */
  readonly runtime: string;
  /** The transport that its `imports` condition selects. */
  readonly transport: "undici" | "fetch";
  /** The address of its server. */
  readonly origin: string;
  /** The gateways, by the first segment of the path: `/c1/v1/images/generations` belongs to `c1`. */
  readonly gateways: Map<string, Served>;
  /** The reasons why it cannot run a check, by the name of the check. */
  readonly cannot: Readonly<Record<string, string>>;
}

/** Returns the gateway of a path; for other paths any gateway, which responds with 404. */
export function findGateway(gateways: ReadonlyMap<string, Served>, url: string): Served | undefined {
  const { pathname } = new URL(url, "http://localhost");
  return gateways.get(pathname.split("/")[1] ?? "") ?? gateways.values().next().value;
}
