// `npm run dev`: `next dev`, with an emulator for the providers that have no key.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { emulateProviders } from "./emulate-providers.ts";

const next = fileURLToPath(import.meta.resolve("next/dist/bin/next"));
const port = process.env.PORT || "8787";
const server = spawn(process.execPath, [next, "dev", "--hostname", "localhost", "--port", port], {
  env: { ...process.env, ...(await emulateProviders()) },
  stdio: "inherit",
});
console.log(`The studio: http://localhost:${port}/studio`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
server.once("exit", (code) => process.exit(code ?? 0));
