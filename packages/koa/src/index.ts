import type { Gateway } from "@calotype/core";
import { handleNodeRequest } from "@calotype/node";
import type { Middleware, ParameterizedContext, Request } from "koa";

/**
 * Mounts a gateway in a Koa app, version 2 or 3. Paths that are not the gateway's go on to the next
 * middleware. Best mounted before any body parser; a JSON parser before it is understood too.
 *
 * The answer goes straight to the socket, so headers of other middleware must be set before the
 * gateway's turn (`ctx.set`, as `@koa/cors` does); what is set after it has no effect on the answer.
 *
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { toKoaMiddleware } from "@calotype/koa";
 * import Koa from "koa";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   apiKeys: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const app = new Koa();
 * app.use(toKoaMiddleware(gateway));
 * app.listen(8787);
 * ```
 */
export function toKoaMiddleware(gateway: Gateway): Middleware {
  return async (ctx, next) => {
    const handled = handleNodeRequest(gateway, ctx.req, ctx.res, {
      url: readUrl(gateway, ctx),
      parsedBody: readParsedBody(ctx.request),
    });
    if (handled === null) return next();
    // Koa keeps a stream's headers back until its first chunk, and version 2 never ends one that breaks.
    ctx.respond = false;
    await handled;
  };
}

/** A mount path counts as base path: it is taken off, unless the gateway expects just that path itself. */
function readUrl(gateway: Gateway, { url, originalUrl }: ParameterizedContext): string {
  // koa-mount takes the slash, too, where its path ends in one.
  const below = url.startsWith("/") ? url : `/${url}`;
  return originalUrl === gateway.basePath + below ? originalUrl : below;
}

/** What a body parser left: the text as it came where it kept that, else what it made of it. */
function readParsedBody(request: Pick<Request, "req"> & { body?: unknown; rawBody?: unknown }): unknown {
  return request.rawBody ?? request.body;
}
