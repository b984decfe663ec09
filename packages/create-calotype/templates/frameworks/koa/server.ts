import { once } from "node:events";
import { toKoaMiddleware } from "@calotype/koa";
import { closeOnSignals } from "@calotype/node";
import Koa from "koa";
import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const app = new Koa();
// Before body parsers.
app.use(toKoaMiddleware(gateway, { caller: findUser }));
app.use(site);
app.use(toKoaMiddleware(studio)); // at /studio

const port = Number(process.env.PORT || 8787);
const server = app.listen(port);
await once(server, "listening"); // fails if the port is in use
console.log(`Listening on http://localhost:${port}/v1`);
console.log(`The page: http://localhost:${port}/`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(server, gateway, { onClosed: closeStores });
