import { type HttpHandler, http } from "msw";
import type { Emulator } from "./emulator.js";
import { isConnectionCut } from "./faults/connection-cut.js";
import { providerOfLink } from "./links/links.js";
import { findOperation } from "./router.js";

export type { HttpHandler } from "msw";

export interface MswHandlerOptions {
  /**
   * Further origins that the handlers respond for, such as `https://images.example.com`: that of a proxy in front of
   * the providers, or the `origin` in the options of the emulator.
   */
  origins?: readonly string[];
}

/** The hosts of all regions of Ark and DashScope. All their paths are the emulator's. */
const wholeHost = /^(?:ark\.[a-z0-9-]+\.(?:volces|bytepluses)\.com|dashscope(?:-[a-z0-9]+)*\.aliyuncs\.com)$/;

/** The hosts of the other APIs, each with the path of its API in the emulator. Other APIs of these hosts are not ours. */
const sharedHosts: readonly (readonly [RegExp, string])[] = [
  [/^api\.openai\.com$/, "/openai"],
  [/^[a-z0-9-]+\.(?:openai\.azure|services\.ai\.azure|cognitiveservices\.azure)\.com$/, "/azure"],
  [/^api\.x\.ai$/, "/xai"],
  [/^openrouter\.ai$/, "/openrouter"],
  [/^api\.together\.(?:xyz|ai)$/, "/together"],
  [/^api\.siliconflow\.(?:cn|com)$/, "/siliconflow"],
  [/^open\.bigmodel\.cn$/, "/zhipu"],
  [/^generativelanguage\.googleapis\.com$/, "/gemini"],
  [/^api(?:\.[a-z0-9]+)?\.bfl\.ai$/, "/bfl"],
  [/^queue\.fal\.run$/, "/fal"],
  [/^fal\.run$/, "/fal-run"],
  [/^api\.replicate\.com$/, "/replicate"],
  [/^api\.apimart\.ai$/, "/relay"],
  [/^api\.minimaxi?\.(?:io|com)$/, "/minimax"],
  [/^external\.api\.recraft\.ai$/, "/recraft"],
  [/^api\.ideogram\.ai$/, "/ideogram"],
  [/^tokenhub\.tencentmaas\.com$/, "/tokenhub"],
  [/^(?:(?:[a-z0-9-]+-)?aiplatform|aiplatform\.[a-z]+\.rep)\.googleapis\.com$/, "/vertex"],
];

/**
 * Returns handlers for msw that respond for the providers' real hosts: `https://ark.<region>.volces.com`,
 * `https://ark.<region>.bytepluses.com`, `https://dashscope.aliyuncs.com`, and `https://dashscope-intl.aliyuncs.com`
 * and other regions. No request to these hosts leaves the process, whatever its path. So put your own handlers for
 * their other APIs before these. Of the hosts of the other APIs, such as `https://api.openai.com`, the handlers respond
 * only for the paths that the emulator has. Result links have the host of the request, and the handlers serve them too.
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
  const isOurs = ({ request }: { request: Request }) => toEmulatorUrl(request, origins) !== undefined;
  return [http.all(isOurs, ({ request }) => respond(emulator, request, toEmulatorUrl(request, origins)))];
}

/** The URL of a request as the emulator knows it. `undefined` if the request is not for the emulator. */
function toEmulatorUrl({ url, method }: Request, origins: ReadonlySet<string>): URL | undefined {
  const { protocol, hostname, origin, pathname, search } = new URL(url);
  if (origins.has(origin)) return new URL(url);
  if (protocol !== "https:") return undefined;
  if (wholeHost.test(hostname)) return new URL(url);
  const folder = sharedHosts.find(([host]) => host.test(hostname))?.[1];
  if (folder === undefined) return undefined;
  if (providerOfLink(pathname) !== undefined) return new URL(url);
  const path = folder + pathname;
  return findOperation(method, path) === undefined ? undefined : new URL(path + search, origin);
}

async function respond(emulator: Emulator, request: Request, url = new URL(request.url)): Promise<Response> {
  try {
    const response = await emulator.fetch(url.href === request.url ? request : new Request(url, request));
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
