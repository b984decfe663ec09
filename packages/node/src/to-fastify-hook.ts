import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "@calotype/core";
import { checkMounted, type MountOptions, readMountOptions } from "@calotype/core/adapter";
import { handleNodeRequest } from "./handle-node-request.js";

/** What {@link FastifyHook} uses of Fastify's request. */
export interface FastifyRequestParts {
  readonly raw: IncomingMessage;
  readonly body?: unknown;
}

/** What {@link FastifyHook} uses of Fastify's reply. */
export interface FastifyReplyParts {
  readonly raw: ServerResponse;
  getHeaders(): Readonly<Record<string, number | string | string[] | undefined>>;
  hijack(): unknown;
}

/** A hook for `onRequest` of Fastify. */
export type FastifyHook<Request extends FastifyRequestParts = FastifyRequestParts> = (
  request: Request,
  reply: FastifyReplyParts,
) => Promise<void>;

/**
 * Mounts a gateway in a Fastify app, as a hook that runs before Fastify reads the body. Requests for other paths go on to
 * the routes of the app. Headers that earlier hooks have set, such as those of `@fastify/cors`, stay on the response.
 *
 * @param options `caller` finds the app's own signed-in users in Fastify's request, see `MountOptions`. Add the hook after those
 * that read cookies or sessions.
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { toFastifyHook } from "@calotype/node";
 * import { fastify } from "fastify";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const app = fastify();
 * app.addHook("onRequest", toFastifyHook(gateway));
 * await app.listen({ port: 8787 });
 * ```
 */
export function toFastifyHook<Request extends FastifyRequestParts = FastifyRequestParts>(
  gateway: Pick<Gateway, "handle">,
  options: MountOptions<Request> = {},
): FastifyHook<NoInfer<Request>> {
  checkMounted(gateway, "toFastifyHook");
  const caller = readMountOptions(options, "toFastifyHook");
  return async (request, reply) => {
    // `app.register` calls it with the app and its options.
    if (typeof reply?.hijack !== "function") {
      throw new TypeError(
        'toFastifyHook makes a hook: mount it with app.addHook("onRequest", …), not with app.register.',
      );
    }
    const { raw, body: parsedBody } = request;
    const findUser = caller && (() => caller(request));
    const handled = handleNodeRequest(gateway, raw, reply.raw, { parsedBody, findUser });
    if (handled === null) return;
    // Fastify's own code writes nothing from here on.
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    // As without a framework: the head of the response may be sent, so the client gets no error, but the end of its connection.
    await handled.catch(() => reply.raw.destroy());
  };
}
