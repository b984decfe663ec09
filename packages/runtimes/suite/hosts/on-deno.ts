import type { Gateway } from "@calotype/core";
import { WITHOUT_ADDRESSES } from "../cannot.ts";
import { findGateway } from "../host.ts";
import { reportSuite } from "./report-suite.ts";

/** The part of Deno's API that is used here. */
declare const Deno: {
  readonly version: { readonly deno: string };
  serve(
    options: { hostname: string; port: number; onListen(): void },
    handler: (request: Request) => Response | Promise<Response>,
  ): { readonly addr: { readonly port: number } };
};

const gateways = new Map<string, Gateway>();
const { addr } = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
  (request) => findGateway(gateways, request.url)?.fetch(request) ?? new Response(null, { status: 404 }),
);

await reportSuite({
  runtime: `Deno ${Deno.version.deno}`,
  transport: "fetch",
  origin: `http://127.0.0.1:${addr.port}`,
  gateways,
  cannot: WITHOUT_ADDRESSES,
});
