// Runs handler.ts on Node. Bun and Deno need no such file: see the README.
import { createServer } from "node:http";
import { emulateProviders } from "@calotype/example-options/emulate-providers";
import { createRequestListener } from "@remix-run/node-fetch-server";

const { env, close } = await emulateProviders(process.env);
Object.assign(process.env, env);
const { default: handler } = await import("./handler.ts");

const server = createServer(createRequestListener((request) => handler.fetch(request)));
server.listen(Number(env["PORT"] || 8787), () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});
server.on("error", ({ message }) => {
  console.error(message);
  process.exit(1);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => server.close(() => void close()));
}
