// `npm run dev`: `wrangler dev`, with an emulator for the providers that have no key.
import { spawn } from "node:child_process";
import { emulateProviders } from "./emulate-providers.ts";

const variables = Object.entries(await emulateProviders()).flatMap(([name, value]) => [
  "--var",
  `${name}:${value}`,
]);
const server = spawn("wrangler", ["dev", "--port", process.env.PORT || "8787", ...variables], {
  stdio: "inherit",
  // On Windows, wrangler is a shell script.
  shell: process.platform === "win32",
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
server.once("exit", (code) => process.exit(code ?? 0));
