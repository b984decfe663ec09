import type { EmulatorOptions } from "@calotype/emulator";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type Providers, startProviders } from "./test-gateway.js";

/** The providers of a group of tests, started before the first and emptied after each. */
export function useProviders(options?: EmulatorOptions): () => Providers {
  let providers: Providers | undefined;
  beforeAll(async () => {
    providers = await startProviders(options);
  });
  afterEach(() => providers?.emulator.reset());
  afterAll(() => providers?.server.close());
  return () => {
    if (providers === undefined) throw new Error("The providers start with the first test.");
    return providers;
  };
}
