import { toNodeHandler } from "better-auth/node";
import type { FastifyReply, FastifyRequest } from "fastify";
import { auth } from "./auth.ts";
import { PAGE_PATHS, readPage } from "./page/bundle-page.ts";

const serveAuth = toNodeHandler(auth);

/** The page at `/`, and the paths of better-auth. */
export async function site({ url, raw }: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const [path = ""] = url.split("?");
  if (path.startsWith("/api/auth/")) {
    reply.hijack();
    return serveAuth(raw, reply.raw);
  }
  if (!PAGE_PATHS.includes(path)) return;
  const { type, text } = await readPage(path);
  return reply.type(type).send(text);
}
