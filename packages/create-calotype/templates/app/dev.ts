// `npm run dev`: the server, with an emulator for the providers that have no key.
import { existsSync } from "node:fs";
import { emulateProviders } from "./emulate-providers.ts";

// Not with --env-file-if-exists: with --watch, Node fails if there is no such file (nodejs/node#57040).
if (existsSync(".env")) process.loadEnvFile();
Object.assign(process.env, await emulateProviders());
await import("./server.ts");
const { studio } = await import("./studio.ts");
studio.printLink(`http://localhost:${process.env.PORT || 8787}/studio`);
