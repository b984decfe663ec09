import { createEmulator } from "@calotype/emulator";
import { readConfig } from "./read-config.ts";
import { type Environment, findLiveProviders } from "./read-options.ts";

/** An environment to go on with, and what to close at the end. */
export interface EmulatedEnvironment {
  readonly env: Environment;
  readonly close: () => Promise<void>;
}

/**
 * Starts an emulator of both providers and names it in the environment, so that the apps work without
 * an account. Does nothing where the environment or the configuration names a provider.
 */
export async function emulateProviders(env: Environment): Promise<EmulatedEnvironment> {
  const { ark, dashscope } = findLiveProviders(env);
  if (ark || dashscope || readConfig(env).channels !== undefined) return { env, close: async () => {} };
  const emulator = await createEmulator().listen();
  console.error(
    "No provider is set (ARK_API_KEY, DASHSCOPE_API_KEY): emulated pictures, API key sk-local unless CALOTYPE_API_KEY is set.",
  );
  return {
    env: {
      ...env,
      ARK_BASE_URL: emulator.arkBaseUrl,
      DASHSCOPE_BASE_URL: emulator.dashscopeBaseUrl,
      CALOTYPE_API_KEY: env["CALOTYPE_API_KEY"] || "sk-local",
    },
    close: () => emulator.close(),
  };
}
