import { Hono } from "hono";
import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

/** The page at `/`, and the paths of better-auth. */
export const site = new Hono();
site.on(["GET", "POST"], "/api/auth/*", (c) => auth.handler(c.req.raw));
site.on("GET", PAGE_PATHS, async (c) => {
  const { type, text } = await readPage(c.req.path);
  return c.body(text, 200, { "content-type": type });
});
