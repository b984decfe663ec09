import type { Gateway } from "@calotype/core";
import { expect, onTestFinished } from "vitest";
import { compareWithDocument } from "../openapi/check-response.js";
import type { AdapterHost, Mounted, Mounting } from "./adapter-host.js";

/**
 * Mounts a gateway for one test. The host ends with the test. Every response that is read with `send` must be as the OpenAPI
 * document describes it.
 */
export async function mountFor(host: AdapterHost, gateway: Gateway, mounting?: Mounting): Promise<Mounted> {
  const mounted = await host.mount(gateway, mounting);
  onTestFinished(() => mounted.close());
  return {
    ...mounted,
    async send(call) {
      const response = await mounted.send(call);
      expect(compareWithDocument(call, response), `the response to ${call.path}`).toEqual([]);
      return response;
    },
  };
}
