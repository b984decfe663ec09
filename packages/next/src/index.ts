import type { Gateway } from "@calotype/core";
import { after } from "next/server.js";

/** What Next.js hands to a route handler beside the request. */
export interface RouteContext {
  readonly params?: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

/** A route handler of Next.js. */
export type RouteHandler = (request: Request, context: RouteContext) => Promise<Response>;

/** What a route file exports: a handler for each method. */
export type RouteHandlers = Readonly<
  Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", RouteHandler>
>;

/**
 * Mounts a gateway in a Next.js app, as a catch-all route of the App Router. The folder of the route
 * is the base path: `app/ai/[...path]/route.ts` serves `/ai/v1/images/generations`.
 *
 * @param gateway or a function that makes it with the first request: `next build` loads the route,
 * too, and mostly without the keys that a gateway needs
 * @example
 * ```ts
 * // app/ai/[...path]/route.ts
 * import { createGateway } from "@calotype/core";
 * import { toNextHandlers } from "@calotype/next";
 *
 * export const { GET, POST, PUT, PATCH, DELETE, OPTIONS } = toNextHandlers(() =>
 *   createGateway({
 *     models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *     channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *     apiKeys: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   }),
 * );
 * ```
 */
export function toNextHandlers(gateway: Gateway | (() => Gateway)): RouteHandlers {
  let made: Gateway | undefined;
  const handle: RouteHandler = async (request, { params }) => {
    made ??= typeof gateway === "function" ? gateway() : gateway;
    const { pathname } = new URL(request.url);
    const path = readPath(made, pathname, await params);
    const asked = path === pathname ? request : new Request(new URL(path, request.url), request);
    // What goes on after the answer, such as a stream whose client left, must outlive the request.
    return made.fetch(asked, { waitUntil: after });
  };
  return { GET: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle, OPTIONS: handle };
}

/** The route's folder counts as base path: it is taken off, unless the gateway expects just that path itself. */
function readPath({ basePath }: Gateway, pathname: string, params: Awaited<RouteContext["params"]>): string {
  const rest = Object.values(params ?? {}).find((value) => Array.isArray(value));
  const below = rest === undefined ? pathname : `/${rest.join("/")}`;
  return pathname.endsWith(basePath + below) ? basePath + below : below;
}
