// An image-generation gateway for every runtime that calls a default export's `fetch`: Bun, Deno,
// Cloudflare Workers; serve.ts runs it on Node. `readOptions` takes the options from the environment;
// in an app of yours, write them here.
import { createGateway, type Gateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";

/** Made with the first request: Workers allow no timers and signals before it. */
let gateway: Gateway | undefined;

/** The third argument on Workers. Work that is not passed to `waitUntil` is stopped after the response. */
interface WorkerContext {
  waitUntil(work: Promise<unknown>): void;
}

export default {
  fetch(request: Request, _bindings?: unknown, context?: WorkerContext): Promise<Response> {
    gateway ??= createGateway(readOptions(process.env));
    return gateway.fetch(request, { waitUntil: context && ((work) => context.waitUntil(work)) });
  },
  /** By default, Bun ends a connection after 10 silent seconds, before an image is made. With 0 it never does. */
  idleTimeout: 0,
};
