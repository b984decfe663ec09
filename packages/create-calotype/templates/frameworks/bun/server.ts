import { findUser } from "./auth.ts";
import { gateway } from "./gateway.ts";
import { site } from "./site.ts";
import { closeStores } from "./stores.ts";
import { studio } from "./studio.ts";

const server = Bun.serve({
  port: Number(process.env.PORT || 8787),
  routes: { ...site, "/studio": serveStudio, "/studio/*": serveStudio },
  fetch: (request) => gateway.fetch(request, { caller: findUser }),
  // By default, Bun ends a connection after 10 silent seconds, before an image is made.
  idleTimeout: 0,
});
console.log(`Listening on http://localhost:${server.port}/v1`);
console.log(`The page: http://localhost:${server.port}/`);

gateway.start();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void close());

function serveStudio(request: Request, from: Bun.Server<unknown>): Promise<Response> {
  return studio.fetch(request, { clientAddress: () => from.requestIP(request)?.address });
}

/** Finishes and charges the requests in progress, then ends the process. */
async function close(): Promise<void> {
  void server.stop();
  await gateway.close({ deadlineSeconds: 25 });
  await closeStores();
  process.exit();
}
