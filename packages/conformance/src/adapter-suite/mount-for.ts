import type { Gateway } from "@calotype/core";
import { onTestFinished } from "vitest";
import type { AdapterHost, Mounted, Mounting } from "./adapter-host.js";

/** Mounts a gateway for one test. The host ends with the test. */
export async function mountFor(host: AdapterHost, gateway: Gateway, mounting?: Mounting): Promise<Mounted> {
  const mounted = await host.mount(gateway, mounting);
  onTestFinished(() => mounted.close());
  return mounted;
}
