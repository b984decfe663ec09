import "reflect-metadata";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals } from "@calotype/node";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { AppModule } from "./app.module.ts";
import { gateway } from "./gateway.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const app = await NestFactory.create<NestExpressApplication>(AppModule, { logger: ["error", "warn"] });
// Before `listen`, which adds Nest's body parsers: so the gateway reads the bodies of its own requests.
app.use(toExpressHandler(gateway));
app.use("/studio", toExpressHandler(studio));

const port = Number(process.env.PORT || 8787);
await app.listen(port);
console.log(`Listening on http://localhost:${port}/v1`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(app.getHttpServer(), gateway, {
  onClosed: async () => {
    await app.close();
    await closeStores();
  },
});
