// `npm run dev`: `next dev`, with an emulator for the providers that have no key.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { emulateProviders } from "./emulate-providers.ts";

const next = fileURLToPath(import.meta.resolve("next/dist/bin/next"));
const server = spawn(process.execPath, [next, "dev", "--port", process.env.PORT || "8787"], {
  env: { ...process.env, ...(await emulateProviders()) },
  stdio: "inherit",
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
server.once("exit", (code) => process.exit(code ?? 0));
