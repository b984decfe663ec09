import { createEmulator } from "@calotype/emulator";

/** Variables by name, such as `process.env`. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Starts an emulator of Volcengine Ark if the environment names no account there, and returns the environment with its address.
 * Otherwise does nothing.
 */
export async function emulateArk(
  env: Environment,
): Promise<{ env: Environment; close: () => Promise<void> }> {
  if (env.ARK_API_KEY || env.ARK_BASE_URL) return { env, close: async () => {} };
  const emulator = await createEmulator().listen();
  console.error("ARK_API_KEY is not set: emulated images, API key sk-local unless CALOTYPE_API_KEY is set.");
  return {
    env: { ...env, ARK_BASE_URL: emulator.arkBaseUrl, CALOTYPE_API_KEY: env.CALOTYPE_API_KEY || "sk-local" },
    close: () => emulator.close(),
  };
}
