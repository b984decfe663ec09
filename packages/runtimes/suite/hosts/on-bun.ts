import { WITHOUT_ADDRESSES } from "../cannot.ts";
import { findGateway, type Served } from "../host.ts";
import { reportSuite } from "./report-suite.ts";

/** The second argument of `fetch` on Bun. */
interface Server {
  requestIP(request: Request): { readonly address: string } | null;
}

/** The part of Bun's API that is used here. */
declare const Bun: {
  readonly version: string;
  serve(options: {
    hostname: string;
    port: number;
    /** The time without a byte, in seconds, after which a connection is closed; 0: never. Default 10. */
    idleTimeout: number;
    fetch(request: Request, server: Server): Response | Promise<Response>;
  }): { readonly port: number };
};

const gateways = new Map<string, Served>();
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: (request, server) =>
    findGateway(gateways, request.url)?.fetch(request, {
      clientAddress: () => server.requestIP(request)?.address,
    }) ?? new Response(null, { status: 404 }),
});

await reportSuite({
  runtime: `Bun ${Bun.version}`,
  transport: "fetch",
  origin: `http://127.0.0.1:${port}`,
  gateways,
  cannot: WITHOUT_ADDRESSES,
});
