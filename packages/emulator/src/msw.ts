import { type HttpHandler, http } from "msw";
import type { Emulator } from "./emulator.js";
import { isConnectionCut } from "./faults/connection-cut.js";

export type { HttpHandler } from "msw";

export interface MswHandlerOptions {
  /**
   * Further origins that the handlers respond for, such as `https://images.example.com`: that of a proxy in front of
   * the providers, or the `origin` in the options of the emulator.
   */
  origins?: readonly string[];
}

/** The hosts of all regions of both providers. */
const providerHost =
  /^(?:ark\.[a-z0-9-]+\.(?:volces|bytepluses)\.com|dashscope(?:-[a-z0-9]+)*\.aliyuncs\.com)$/;

/**
 * Returns handlers for msw that respond for the providers' real hosts: `https://ark.<region>.volces.com`,
 * `https://ark.<region>.bytepluses.com`, `https://dashscope.aliyuncs.com`, and `https://dashscope-intl.aliyuncs.com`
 * and other regions. No request to these hosts leaves the process, whatever its path. So put your own handlers for
 * their other APIs before these. Result links have the host of the request, and the handlers serve them too.
 *
 * msw intercepts the global `fetch` and `node:http`. It does not intercept `undici.request`, or a `fetch` that was
 * stored in a variable before msw started.
 *
 * @example
 * ```ts
 * import { createEmulator } from "@calotype/emulator";
 * import { toMswHandlers } from "@calotype/emulator/msw";
 * import { setupServer } from "msw/node";
 *
 * const emulator = createEmulator({ images: "tiny" });
 * const server = setupServer(...toMswHandlers(emulator));
 * server.listen({ onUnhandledFrame: "error" });
 *
 * const response = await fetch("https://ark.cn-beijing.volces.com/api/v3/images/generations", {
 *   method: "POST",
 *   headers: { authorization: "Bearer any-key", "content-type": "application/json" },
 *   body: JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "一只橘猫" }),
 * });
 * console.log(await response.json()); // data[0].url: "https://ark.cn-beijing.volces.com/ark-results/….jpeg?…"
 * server.close();
 * ```
 */
export function toMswHandlers(emulator: Emulator, options: MswHandlerOptions = {}): HttpHandler[] {
  const origins = new Set(options.origins?.map((origin) => new URL(origin).origin));
  const isOurs = ({ request }: { request: Request }) => {
    const { protocol, hostname, origin } = new URL(request.url);
    return origins.has(origin) || (protocol === "https:" && providerHost.test(hostname));
  };
  return [http.all(isOurs, ({ request }) => respond(emulator, request))];
}

async function respond(emulator: Emulator, request: Request): Promise<Response> {
  try {
    const response = await emulator.fetch(request);
    // Without this header msw ends a body by closing the connection, so a body that was cut off would look complete.
    if (response.body !== null && !response.headers.has("content-length"))
      response.headers.set("transfer-encoding", "chunked");
    return response;
  } catch (error) {
    // msw turns a rejection into a 500. `Response.error()` is its way to break the connection.
    if (isConnectionCut(error) || request.signal.aborted) return Response.error();
    throw error;
  }
}
