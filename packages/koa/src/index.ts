import type { Gateway } from "@calotype/core";
import { checkMounted, type MountOptions, readMountOptions } from "@calotype/core/adapter";
import { handleNodeRequest, readMountPath } from "@calotype/node";
import type { Context, Middleware, Request } from "koa";

/**
 * Mounts a gateway in a Koa app, version 2 or 3, at any path and in any way (`app.use`, `koa-mount`, `@koa/router`).
 * Requests for other paths go to the next middleware. Mount it before any body parser if you can; it also accepts what
 * a JSON parser before it has left.
 *
 * The response goes straight to the socket. So other middleware must set its headers before it calls the gateway
 * (`ctx.set`, as `@koa/cors` does); headers set afterwards have no effect on the response.
 *
 * @param options `caller` finds the app's own signed-in users in the context of a request, see `MountOptions`
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { toKoaMiddleware } from "@calotype/koa";
 * import Koa from "koa";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const app = new Koa();
 * app.use(toKoaMiddleware(gateway));
 * app.listen(8787);
 * ```
 */
export function toKoaMiddleware(
  gateway: Pick<Gateway, "handle">,
  options: MountOptions<Context> = {},
): Middleware {
  checkMounted(gateway, "toKoaMiddleware");
  const caller = readMountOptions(options, "toKoaMiddleware");
  return async (ctx, next) => {
    const handled = handleNodeRequest(gateway, ctx.req, ctx.res, {
      ...readMountPath(ctx.url, ctx.originalUrl),
      isEncrypted: ctx.secure,
      parsedBody: readParsedBody(ctx.request),
      findUser: caller && (() => caller(ctx)),
    });
    if (handled === null) return next();
    // Koa would hold back a stream's headers until its first chunk, and version 2 never ends a stream that fails.
    ctx.respond = false;
    await handled;
  };
}

/** The result of a body parser: the text of the body if the parser kept it, else the parsed value. */
function readParsedBody(request: Pick<Request, "req"> & { body?: unknown; rawBody?: unknown }): unknown {
  return request.rawBody ?? request.body;
}
