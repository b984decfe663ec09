import { closeOnSignals, handleNodeRequest } from "@calotype/node";
import Fastify from "fastify";
import { gateway } from "./gateway.ts";
import { closeStores } from "./stores.ts";

const app = Fastify();
// `onRequest` runs before Fastify parses the body. The gateway reads the body and writes the response itself.
app.addHook("onRequest", async (request, reply) => {
  const handled = handleNodeRequest(gateway, request.raw, reply.raw);
  if (handled === null) return; // not a path of the gateway
  reply.hijack();
  await handled.catch(() => reply.raw.destroy());
});

const port = Number(process.env.PORT || 8787);
await app.listen({ port, host: "0.0.0.0" });
console.log(`Listening on http://localhost:${port}/v1`);
// On SIGTERM and Ctrl+C: finishes and charges the requests in progress, then ends the process.
closeOnSignals(app.server, gateway, {
  onClosed: async () => {
    await app.close();
    await closeStores();
  },
});
