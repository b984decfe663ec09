// An image-generation gateway for every runtime that calls a default export's `fetch`: Bun, Deno,
// Cloudflare Workers; serve.ts runs it on Node. `readOptions` takes the options from the environment;
// in an app of yours, write them here.
import { createGateway } from "@calotype/core";
import { readOptions } from "@calotype/example-options";

const gateway = createGateway(readOptions(process.env));

/** What Workers give as third argument: they stop with the response whatever is not named there. */
interface WorkerContext {
  waitUntil(work: Promise<unknown>): void;
}

export default {
  fetch: (request: Request, _bindings?: unknown, context?: WorkerContext): Promise<Response> =>
    gateway.fetch(request, { waitUntil: context && ((work) => context.waitUntil(work)) }),
  /** Bun ends a connection that is silent for 10 seconds, sooner than a picture is made; 0: never. */
  idleTimeout: 0,
};
