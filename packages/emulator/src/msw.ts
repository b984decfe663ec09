import { type HttpHandler, http } from "msw";
import type { Emulator } from "./emulator.js";
import { isConnectionCut } from "./faults/connection-cut.js";

export type { HttpHandler } from "msw";

export interface MswHandlerOptions {
  /**
   * Further origins to answer for, such as `https://images.example.com`: a proxy before the providers, or the
   * `origin` that the emulator was given for its links.
   */
  origins?: readonly string[];
}

/** Every region of both providers, at home and abroad. */
const providerHost =
  /^(?:ark\.[a-z0-9-]+\.(?:volces|bytepluses)\.com|dashscope(?:-[a-z0-9]+)*\.aliyuncs\.com)$/;

/**
 * Answers the providers' real addresses in tests with msw: `https://ark.<region>.volces.com`,
 * `https://ark.<region>.bytepluses.com`, `https://dashscope.aliyuncs.com`, `https://dashscope-intl.aliyuncs.com`
 * and its like. No request to these hosts leaves the process, whatever its path: handlers of your own for other
 * APIs there go before these. Result links point to the host that was asked, so they are served as well.
 *
 * msw sees the global `fetch` and `node:http`. It sees neither `undici.request` nor a `fetch` that somebody kept
 * before it listens.
 *
 * @example
 * ```ts
 * import { createEmulator } from "@calotype/emulator";
 * import { toMswHandlers } from "@calotype/emulator/msw";
 * import { setupServer } from "msw/node";
 *
 * const emulator = createEmulator({ pictures: "tiny" });
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
  return [http.all(isOurs, ({ request }) => answer(emulator, request))];
}

async function answer(emulator: Emulator, request: Request): Promise<Response> {
  try {
    const response = await emulator.fetch(request);
    // Without it msw ends a body by closing its connection, and one that is cut off would look whole.
    if (response.body !== null && !response.headers.has("content-length"))
      response.headers.set("transfer-encoding", "chunked");
    return response;
  } catch (error) {
    // What rejects is a 500 to msw; this is its name for a connection that broke.
    if (isConnectionCut(error) || request.signal.aborted) return Response.error();
    throw error;
  }
}
