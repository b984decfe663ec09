// `npm run dev`: `next dev`, with an emulator for the providers that have no key.
import { emulateProviders } from "./emulate-providers.ts";
import { runNext } from "./run-next.ts";

runNext(["dev", "--hostname", "localhost"], await emulateProviders());
