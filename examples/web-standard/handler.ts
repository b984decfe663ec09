// An image-generation gateway for every runtime that calls a default export's `fetch`: Bun, Deno, Cloudflare Workers; serve.ts
// runs it on Node. Its environment: CALOTYPE_API_KEY, ARK_API_KEY, ARK_BASE_URL.
import { createGateway, type Gateway } from "@calotype/core";

/** Made with the first request: Workers allow no timers and signals before it. */
let gateway: Gateway | undefined;

function createOwnGateway(): Gateway {
  const { env } = process;
  return createGateway({
    models: { "seedream-4-5-251128": { family: "seedream" } },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: env.ARK_API_KEY || undefined,
        baseUrl: env.ARK_BASE_URL || undefined, // not set: Volcengine Ark
        modelMapping: { "seedream-4-5-251128": "doubao-seedream-4-5-251128" },
      },
    ],
    callers: [{ id: "default", key: env.CALOTYPE_API_KEY || undefined }],
    billing: {
      model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" } },
    },
    onUsage: (record) => console.log(JSON.stringify(record)),
  });
}

/** The third argument on Workers. Work that is not passed to `waitUntil` is stopped after the response. */
interface WorkerContext {
  waitUntil(work: Promise<unknown>): void;
}

export default {
  fetch(request: Request, _bindings?: unknown, context?: WorkerContext): Promise<Response> {
    gateway ??= createOwnGateway();
    return gateway.fetch(request, { waitUntil: context && ((work) => context.waitUntil(work)) });
  },
  /** By default, Bun ends a connection after 10 silent seconds, before an image is made. With 0 it never does. */
  idleTimeout: 0,
};
