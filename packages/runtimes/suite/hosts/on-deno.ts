import { WITHOUT_ADDRESSES } from "../cannot.ts";
import { findGateway, type Served } from "../host.ts";
import { reportSuite } from "./report-suite.ts";

/** The part of Deno's API that is used here. */
declare const Deno: {
  readonly version: { readonly deno: string };
  serve(
    options: { hostname: string; port: number; onListen(): void },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname: string } },
    ) => Response | Promise<Response>,
  ): { readonly addr: { readonly port: number } };
};

const gateways = new Map<string, Served>();
const { addr } = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => undefined },
  (request, { remoteAddr }) =>
    findGateway(gateways, request.url)?.fetch(request, { clientAddress: () => remoteAddr.hostname }) ??
    new Response(null, { status: 404 }),
);

await reportSuite({
  runtime: `Deno ${Deno.version.deno}`,
  transport: "fetch",
  origin: `http://127.0.0.1:${addr.port}`,
  gateways,
  cannot: WITHOUT_ADDRESSES,
});
