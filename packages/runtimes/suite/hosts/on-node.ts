import { createServer } from "node:http";
import { toNodeHandler } from "@calotype/node";
import { findGateway, type Served } from "../host.ts";
import { listen } from "../loopback.ts";
import { reportSuite } from "./report-suite.ts";

const gateways = new Map<string, Served>();
const server = createServer((req, res) => {
  const gateway = findGateway(gateways, req.url ?? "/");
  if (gateway === undefined) res.writeHead(404).end();
  else toNodeHandler(gateway)(req, res);
});
const port = await listen(server);

await reportSuite({
  runtime: `Node ${process.versions.node}`,
  transport: "undici",
  origin: `http://127.0.0.1:${port}`,
  gateways,
  cannot: {},
});
