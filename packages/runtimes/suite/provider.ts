import { createEmulator } from "@calotype/emulator";
import { findClosedPort, startTrap } from "./loopback.ts";
import type { ProviderAddresses } from "./provider-addresses.ts";
import { startScripted } from "./scripted-provider.ts";

/** The providers of one run, and a function that ends them. */
export interface RunningProvider {
  readonly addresses: ProviderAddresses;
  readonly close: () => Promise<void>;
}

/** The time for an image, so that a client can disconnect between two images. */
const MS_PER_IMAGE = 100;

/** Starts the providers on free ports of loopback. */
export async function startProvider(): Promise<RunningProvider> {
  const emulator = await createEmulator({ images: "tiny", millisecondsPerImage: MS_PER_IMAGE }).listen();
  const trap = await startTrap();
  const scripted = await startScripted(trap.caught);
  return {
    addresses: {
      emulator: emulator.url,
      scripted: scripted.url,
      trapPort: trap.port,
      closed: `http://127.0.0.1:${await findClosedPort()}`,
    },
    close: async () => void (await Promise.all([emulator.close(), trap.close(), scripted.close()])),
  };
}
