// Runs handler.ts on Node. Bun and Deno need no such file: see the README. Without an account at Volcengine Ark, the images are
// emulated.
import { createServer } from "node:http";
import { createEmulator } from "@calotype/emulator";
import { createRequestListener } from "@remix-run/node-fetch-server";
import handler from "./handler.ts";

const { env } = process;
const emulator = env.ARK_API_KEY || env.ARK_BASE_URL ? undefined : await createEmulator().listen();
if (emulator) {
  console.error("ARK_API_KEY is not set: emulated images, API key sk-local unless CALOTYPE_API_KEY is set.");
  env.ARK_BASE_URL = emulator.arkBaseUrl;
  env.CALOTYPE_API_KEY ||= "sk-local";
}
env.ARK_API_KEY ||= "none";

const server = createServer(createRequestListener((request) => handler.fetch(request)));
server.listen(Number(env.PORT || 8787), () => {
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});
server.on("error", ({ message }) => {
  console.error(message);
  process.exit(1);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => server.close(() => void emulator?.close()));
}
