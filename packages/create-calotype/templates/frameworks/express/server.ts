import { once } from "node:events";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals } from "@calotype/node";
import express from "express";
import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const app = express();
// Before express.json() and other body parsers.
app.use(toExpressHandler(gateway, { caller: findUser }));
app.use(site);
app.use("/studio", toExpressHandler(studio));

const port = Number(process.env.PORT || 8787);
const server = app.listen(port);
await once(server, "listening"); // fails if the port is in use
console.log(`Listening on http://localhost:${port}/v1`);
console.log(`The page: http://localhost:${port}/`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(server, gateway, { onClosed: closeStores });
