import type { Gateway } from "@calotype/core";
import { WITHOUT_ADDRESSES } from "../cannot.ts";
import { findGateway } from "../host.ts";
import { reportSuite } from "./report-suite.ts";

/** The part of Bun's API that is used here. */
declare const Bun: {
  readonly version: string;
  serve(options: {
    hostname: string;
    port: number;
    /** The time without a byte, in seconds, after which a connection is closed; 0: never. Default 10. */
    idleTimeout: number;
    fetch(request: Request): Response | Promise<Response>;
  }): { readonly port: number };
};

const gateways = new Map<string, Gateway>();
const { port } = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: (request) =>
    findGateway(gateways, request.url)?.fetch(request) ?? new Response(null, { status: 404 }),
});

await reportSuite({
  runtime: `Bun ${Bun.version}`,
  transport: "fetch",
  origin: `http://127.0.0.1:${port}`,
  gateways,
  cannot: WITHOUT_ADDRESSES,
});
