// Serves the app on this machine. Lambda runs lambda.ts.
import { once } from "node:events";
import { closeOnSignals } from "@calotype/node";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { app } from "./app.ts";
import { gateway } from "./gateway.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

app.all("/studio/*", (c) => studio.fetch(c.req.raw, { clientAddress: () => getConnInfo(c).remote.address }));

const port = Number(process.env.PORT || 8787);
const server = serve({ fetch: app.fetch, port });
await once(server, "listening"); // fails if the port is in use
console.log(`Listening on http://localhost:${port}/v1`);
closeOnSignals(server, gateway, { onClosed: closeStores });
