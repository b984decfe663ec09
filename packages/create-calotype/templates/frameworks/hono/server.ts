import { once } from "node:events";
import { closeOnSignals } from "@calotype/node";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const app = new Hono();
app.all("/v1/*", (c) => gateway.fetch(c.req.raw, { caller: findUser }));
app.get("/healthz", (c) => gateway.fetch(c.req.raw));
app.route("/", site);
app.all("/studio/*", (c) => studio.fetch(c.req.raw, { clientAddress: () => getConnInfo(c).remote.address }));

const port = Number(process.env.PORT || 8787);
const server = serve({ fetch: app.fetch, port });
await once(server, "listening"); // fails if the port is in use
console.log(`Listening on http://localhost:${port}/v1`);
console.log(`The page: http://localhost:${port}/`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(server, gateway, { onClosed: closeStores });
