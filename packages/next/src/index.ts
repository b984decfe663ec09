import type { Gateway } from "@calotype/core";
import { checkMounted, type MountOptions, readMountOptions } from "@calotype/core/adapter";
import { after } from "next/server.js";

/** The second argument of a route handler. */
export interface RouteContext {
  readonly params?: Promise<Readonly<Record<string, string | string[] | undefined>>>;
}

/** A gateway, or a page that is mounted like one, such as that of `@calotype/studio`. */
export type Mounted = Pick<Gateway, "fetch">;

/** A route handler of Next.js. */
export type RouteHandler = (request: Request, context: RouteContext) => Promise<Response>;

/** The exports of a route file: a handler for each method. */
export type RouteHandlers = Readonly<
  Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS", RouteHandler>
>;

/**
 * Mounts a gateway in a Next.js app, as a catch-all route of the App Router, in any folder:
 * `app/ai/[...path]/route.ts` serves `/ai/v1/images/generations`, `app/v1/[...path]/route.ts` serves
 * `/v1/images/generations`.
 *
 * @param gateway the gateway, or a function that creates or imports it at the first request. `next build` also loads the
 * route, usually without the keys that a gateway needs.
 * @param options `caller` finds the app's own signed-in users in a request, see `MountOptions`
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
 *     callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   }),
 * );
 * ```
 */
export function toNextHandlers(
  gateway: Mounted | (() => Mounted | Promise<Mounted>),
  options: MountOptions<Request> = {},
): RouteHandlers {
  const caller = readMountOptions(options, "toNextHandlers");
  if (typeof gateway !== "function") checkMounted(gateway, "toNextHandlers");
  const load = typeof gateway === "function" ? createOnce(gateway) : () => gateway;
  const handle: RouteHandler = async (request, { params }) => {
    const mounted = await load();
    checkMounted(mounted, "toNextHandlers");
    const mountPath = readMountPath(new URL(request.url).pathname, await params);
    // Work that continues after the response, such as a stream whose client has disconnected, must outlive the
    // request.
    // Next.js removes the header `content-encoding` of a response, and compresses the body itself.
    return mounted.fetch(request, { waitUntil: after, mountPath, encodesResponses: true, caller });
  };
  return { GET: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle, OPTIONS: handle };
}

/** Calls the function with the first request, and again with the next one if it failed. */
function createOnce(create: () => Mounted | Promise<Mounted>): () => Promise<Mounted> {
  let created: Promise<Mounted> | undefined;
  const forget = (error: unknown): never => {
    created = undefined;
    throw error;
  };
  return () => (created ??= Promise.resolve().then(create).catch(forget));
}

/**
 * The folder of the route: the path without the value of the catch-all parameter, whose segments may be decoded.
 * `undefined` if the path does not end with that value, for example after a rewrite.
 */
function readMountPath(pathname: string, params: Awaited<RouteContext["params"]>): string | undefined {
  const rest = Object.values(params ?? {}).find((value) => Array.isArray(value));
  if (rest === undefined) return "";
  const below = `/${rest.join("/")}`;
  if (pathname.endsWith(below)) return pathname.slice(0, -below.length);
  const segments = pathname.split("/");
  const isSame = rest.every(
    (value, index) => decode(segments.at(index - rest.length) ?? "") === decode(value),
  );
  return isSame ? segments.slice(0, -rest.length).join("/") : undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
