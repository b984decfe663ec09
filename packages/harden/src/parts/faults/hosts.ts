import { rmSync } from "node:fs";
import { join } from "node:path";
import { FRAMEWORKS } from "@calotype/conformance/hosts/frameworks";
import { NEXT_FOLDER, startNext } from "@calotype/conformance/hosts/next-host";
import { type Listening, listen } from "@calotype/conformance/support/listen";
import type { Gateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import type { HostName } from "./cells.ts";

/** A gateway in a host. Requests need {@link MountedGateway.headers}. */
export interface MountedGateway {
  /** Absent: requests go to `gateway.fetch`. */
  readonly url?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

export async function mountGateway(host: HostName, gateway: Gateway): Promise<MountedGateway> {
  if (host === "gateway.fetch") return { headers: {}, close: async () => undefined };
  if (host === "Next.js") return mountInNext(gateway);
  if (host === "node:http") return { ...(await listen(toNodeHandler(gateway))), headers: {} };
  const framework = FRAMEWORKS.find(({ name }) => name === host);
  if (framework === undefined) throw new Error(`There is no host ${host}.`);
  return { ...(await framework.mount(gateway)), headers: {} };
}

/** The header that names the gateway of a request to the Next.js app. */
const GATEWAY_HEADER = "x-harden-gateway";
const inNext = new Map<string, Gateway>();
let next: Promise<Listening> | undefined;
/** Each process builds in its own folder. */
const OUTPUT_FOLDER = `.next-harden-${process.pid}`;

/** Builds and starts the Next.js app. The build blocks the process, so call this before any cell runs. */
export async function prepareNext(): Promise<void> {
  next ??= startNext(OUTPUT_FOLDER);
  await next;
}

/** One app serves all gateways, because its build takes long. */
async function mountInNext(gateway: Gateway): Promise<MountedGateway> {
  const id = crypto.randomUUID();
  inNext.set(id, gateway);
  Reflect.set(globalThis, Symbol.for("calotype.test.gateway"), {
    basePath: "",
    fetch: ((request, host) => {
      const named = inNext.get(request.headers.get(GATEWAY_HEADER) ?? "");
      if (named === undefined) throw new Error("The request names no gateway.");
      return named.fetch(request, host);
    }) satisfies Gateway["fetch"],
  });
  next ??= startNext(OUTPUT_FOLDER);
  const { url } = await next;
  return {
    url,
    headers: { [GATEWAY_HEADER]: id },
    close: async () => void inNext.delete(id),
  };
}

/** Ends the Next.js app, if there is one. */
export async function closeHosts(): Promise<void> {
  const app = await next;
  next = undefined;
  await app?.close();
  if (app !== undefined) rmSync(join(NEXT_FOLDER, OUTPUT_FOLDER), { recursive: true, force: true });
}
