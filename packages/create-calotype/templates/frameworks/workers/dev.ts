// `npm run dev`: `wrangler dev`, with an emulator for the providers that have no key.
import { spawn } from "node:child_process";
import { emulateProviders } from "./emulate-providers.ts";

const port = process.env.PORT || "8787";
const variables = { ...(await emulateProviders()), STUDIO: "local" };
const flags = Object.entries(variables).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
const server = spawn("wrangler", ["dev", "--port", port, ...flags], {
  stdio: "inherit",
  // On Windows, wrangler is a shell script.
  shell: process.platform === "win32",
});
console.log(
  `The studio, when the Worker is ready: http://localhost:${port}/studio. Its link for the browser is printed here.`,
);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
server.once("exit", (code) => process.exit(code ?? 0));
