import type { FaultControl } from "./faults/fault-control.js";
import { applyDefaults, type EmulatorOptions } from "./options.js";
import type { RecordedRequest } from "./recorder.js";
import { createRouter } from "./router.js";
import { type EmulatorServer, type ListenOptions, listen } from "./server.js";
import { createServices } from "./services.js";

/** The APIs of the providers on this machine. */
export interface Emulator {
  /**
   * Responds to a request like the provider, by its path: `/api/v3/images/generations` (Ark),
   * `/openai/v1/images/generations` (OpenAI), the paths of the other APIs, result links, `/_emulator/…`. It has the
   * arguments of the global `fetch`, so it can replace it.
   */
  fetch(input: Request | URL | string, init?: RequestInit): Promise<Response>;
  /** Serves `fetch` on a port of this machine. */
  listen(options?: ListenOptions): Promise<EmulatorServer>;
  /** Errors, delays and unusual responses for the next requests. */
  readonly faults: FaultControl;
  /** The latest requests, oldest first: at most 1000, and at most 128 MiB. Keys are recorded as sent. */
  readonly requests: readonly RecordedRequest[];
  /** Removes all faults, recorded requests, result links and tasks. */
  reset(): void;
}

/**
 * Creates an emulator of the APIs of image providers, such as Volcengine Ark and OpenAI. It opens, reads and loads
 * nothing before its first use.
 *
 * @throws TypeError if an option has an old name.
 * @example
 * ```ts
 * import { createEmulator } from "@calotype/emulator";
 *
 * const server = await createEmulator().listen();
 * const response = await fetch(`${server.arkBaseUrl}/images/generations`, {
 *   method: "POST",
 *   headers: { authorization: "Bearer any-key", "content-type": "application/json" },
 *   body: JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "一只橘猫" }),
 * });
 * console.log(await response.json()); // { model, created, data: [{ url, size: "2048x2048" }], usage }
 * await server.close();
 * ```
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  const services = createServices(applyDefaults(options));
  const route = createRouter(services);
  return {
    fetch(input, init) {
      const request = input instanceof Request && init === undefined ? input : new Request(input, init);
      return route(request, options.origin ?? new URL(request.url).origin);
    },
    listen: (listenOptions) => listen(route, listenOptions),
    faults: services.faults,
    requests: services.recorder.requests,
    reset() {
      services.faults.clear();
      services.recorder.clear();
      services.recipes.clear();
      services.tasks.clear();
    },
  };
}
