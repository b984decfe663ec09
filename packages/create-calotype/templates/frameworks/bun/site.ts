import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

/** The page at `/`, and the paths of better-auth. */
export const site = {
  "/api/auth/*": (request: Request) => auth.handler(request),
  ...Object.fromEntries(PAGE_PATHS.map((path) => [path, () => servePage(path)])),
};

async function servePage(path: string): Promise<Response> {
  const { type, text } = await readPage(path);
  return new Response(text, { headers: { "content-type": type } });
}
