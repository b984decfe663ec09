import { closeOnSignals, toFastifyHook } from "@calotype/node";
import Fastify from "fastify";
import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const app = Fastify();
// Before Fastify reads the body. Other paths go on to your own routes.
app.addHook("onRequest", toFastifyHook(gateway, { caller: ({ raw }) => findUser(raw) }));
app.addHook("onRequest", site);
app.addHook("onRequest", toFastifyHook(studio)); // at /studio

const port = Number(process.env.PORT || 8787);
await app.listen({ port, host: "0.0.0.0" });
console.log(`Listening on http://localhost:${port}/v1`);
console.log(`The page: http://localhost:${port}/`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(app.server, gateway, {
  onClosed: async () => {
    await app.close();
    await closeStores();
  },
});
