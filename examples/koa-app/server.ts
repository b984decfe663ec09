// A Koa app with an image-generation gateway. `readOptions` takes the options from the environment;
// in an app of yours, write them here.
import { createGateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";
import { emulateProviders } from "@calotype/example-options/emulate-providers";
import { toKoaMiddleware } from "@calotype/koa";
import { closeOnSignals } from "@calotype/node";
import Koa from "koa";

const { env, close } = await emulateProviders(process.env);
const gateway = createGateway(readOptions(env));

const app = new Koa();
app.use(toKoaMiddleware(gateway));
const server = app.listen(Number(env["PORT"] || 8787), () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});
server.on("error", ({ message }) => {
  console.error(message);
  process.exit(1);
});

// On SIGTERM and Ctrl+C: requests in progress are finished and charged, then the process ends.
closeOnSignals(server, gateway, { onClosed: close });
