import { createEmulator, type Fault } from "@calotype/emulator";

/** Variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts an emulator of Volcengine Ark if the environment names no account there, and returns the environment with its address.
 * `faults` slow the emulator or let it fail. Otherwise does nothing.
 */
export async function emulateArk(
  env: Environment,
  faults: readonly Fault[],
): Promise<{ env: Environment; close: () => Promise<void> }> {
  if (env.ARK_API_KEY || env.ARK_BASE_URL) return { env, close: async () => {} };
  const images = createEmulator();
  images.faults.add(...faults);
  const emulator = await images.listen();
  console.error("ARK_API_KEY is not set: emulated images, API key sk-local unless CALOTYPE_API_KEY is set.");
  return {
    env: { ...env, ARK_BASE_URL: emulator.arkBaseUrl, CALOTYPE_API_KEY: env.CALOTYPE_API_KEY || "sk-local" },
    close: () => emulator.close(),
  };
}
