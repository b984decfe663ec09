import type { IncomingMessage, ServerResponse } from "node:http";
import { toNodeHandler } from "better-auth/node";
import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

const serveAuth = toNodeHandler(auth);

/** Serves the page at `/`, and the paths of better-auth. Returns false for other paths. */
export function site(req: IncomingMessage, res: ServerResponse): boolean {
  const [path = ""] = (req.url ?? "").split("?");
  const isAuth = path.startsWith("/api/auth/");
  if (!isAuth && !PAGE_PATHS.includes(path)) return false;
  const served = isAuth ? serveAuth(req, res) : servePage(path, res);
  served.catch((error: unknown) => {
    console.error(error);
    res.writeHead(500).end();
  });
  return true;
}

async function servePage(path: string, res: ServerResponse): Promise<void> {
  const { type, text } = await readPage(path);
  res.writeHead(200, { "content-type": type }).end(text);
}
