// `npm run dev`: the server, with an emulator for the providers that have no key.
import { emulateProviders } from "./emulate-providers.ts";

Object.assign(process.env, await emulateProviders());
await import("./server.ts");
const { studio } = await import("./studio.ts");
studio.printLink(`http://localhost:${process.env.PORT || 8787}/studio`);
