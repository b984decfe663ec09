import { createEmulator, type Fault } from "@calotype/emulator";
import { readConfig } from "./read-config.ts";
import { type Environment, findLiveProviders } from "./read-options.ts";

/** The environment to use, and a function that ends the emulator. */
export interface EmulatedEnvironment {
  readonly env: Environment;
  readonly close: () => Promise<void>;
}

/**
 * Starts an emulator of both providers and adds its addresses to the environment, so that the apps work without an
 * account. `faults` slows the emulator or lets it fail. Does nothing if the environment or the configuration names a provider.
 */
export async function emulateProviders(
  env: Environment,
  faults: readonly Fault[] = [],
): Promise<EmulatedEnvironment> {
  const { ark, dashscope } = findLiveProviders(env);
  if (ark || dashscope || readConfig(env).channels !== undefined) return { env, close: async () => {} };
  const emulator = createEmulator();
  emulator.faults.add(...faults);
  const server = await emulator.listen();
  console.error(
    "No provider is set (ARK_API_KEY, DASHSCOPE_API_KEY): emulated images, API key sk-local unless CALOTYPE_API_KEY is set.",
  );
  return {
    env: {
      ...env,
      ARK_BASE_URL: server.arkBaseUrl,
      DASHSCOPE_BASE_URL: server.dashscopeBaseUrl,
      CALOTYPE_API_KEY: env["CALOTYPE_API_KEY"] || "sk-local",
    },
    close: () => server.close(),
  };
}
