import { toNodeHandler } from "better-auth/node";
import { Router } from "express";
import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

/** The page at `/`, and the paths of better-auth. */
export const site = Router();
site.all("/api/auth/*splat", toNodeHandler(auth));
site.get(PAGE_PATHS, async (req, res) => {
  const { type, text } = await readPage(req.path);
  res.type(type).send(text);
});
