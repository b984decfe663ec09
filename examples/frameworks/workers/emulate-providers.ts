import { createEmulator } from "@calotype/emulator";

/**
 * Starts an emulator and returns the variables that send the providers without a key to it, so that the first image
 * needs no account and costs nothing. Only `npm run dev` does this.
 */
export async function emulateProviders(): Promise<Record<string, string>> {
  const emulator = createEmulator();
  const server = await emulator.listen();
  const { baseUrls } = server;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
  const providers = {
    ARK: baseUrls.ark, // seedream
    DASHSCOPE: baseUrls.dashscope, // qwenImage
  };
  const variables: Record<string, string> = {};
  for (const [name, url] of Object.entries(providers)) {
    if (process.env[`${name}_API_KEY`]) continue;
    variables[`${name}_API_KEY`] = "emulated";
    variables[`${name}_BASE_URL`] = url;
    console.error(`${name}_API_KEY is not set: this provider is emulated.`);
  }
  if (!process.env.CALOTYPE_API_KEY) {
    variables.CALOTYPE_API_KEY = "sk-local";
    console.error("CALOTYPE_API_KEY is not set: the API key for your clients is sk-local.");
  }
  return variables;
}
