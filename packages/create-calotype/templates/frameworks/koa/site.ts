import { toNodeHandler } from "better-auth/node";
import type { Middleware } from "koa";
import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

const serveAuth = toNodeHandler(auth);

/** The page at `/`, and the paths of better-auth. */
export const site: Middleware = async (ctx, next) => {
  if (ctx.path.startsWith("/api/auth/")) {
    ctx.respond = false;
    return serveAuth(ctx.req, ctx.res);
  }
  if (!PAGE_PATHS.includes(ctx.path)) return next();
  const { type, text } = await readPage(ctx.path);
  ctx.type = type;
  ctx.body = text;
};
