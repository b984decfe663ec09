import { once } from "node:events";
import { createServer } from "node:http";
import { closeOnSignals, toNodeHandler } from "@calotype/node";
import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const serveGateway = toNodeHandler(gateway, { caller: findUser });
const serveStudio = toNodeHandler(studio); // at /studio
const server = createServer((req, res) => {
  if (site(req, res)) return;
  serveGateway(req, res, () => serveStudio(req, res));
});

const port = Number(process.env.PORT || 8787);
server.listen(port);
await once(server, "listening"); // fails if the port is in use
console.log(`Listening on http://localhost:${port}/v1`);
console.log(`The page: http://localhost:${port}/`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(server, gateway, { onClosed: closeStores });
