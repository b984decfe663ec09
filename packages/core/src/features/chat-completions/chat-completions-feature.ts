import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import type { GatewayRoute } from "../../request/route.js";
import {
  convertStream,
  findUrlBefore,
  isStream,
  readConverted,
  readForeignRequest,
  sendConverted,
} from "../converted-requests/converted-requests.js";
import { readChatRequest } from "./chat-request.js";
import { createChunkTranslation, toCompletion } from "./chat-response.js";

/**
 * `POST {base}/v1/chat/completions` for models that make images: the last message of the user has the prompt and the images. The
 * message of the response has `images`, and links in its text. Only below a `basePath` or a mount path, because the host may have
 * a route of this name.
 */
export function chatCompletions(): Feature {
  return {
    name: "chat-completions",
    setup: ({ now }) => ({ routes: (host) => [createChatRoute(host, now)] }),
  };
}

/** The first group is never empty, so that the route matches below a base path or a mount path only. */
const CHAT_PATH = /^(.*\/v1)\/chat\/completions$/;

function createChatRoute(host: RouteHost<Configured>, now: () => number): GatewayRoute {
  return {
    pattern: CHAT_PATH,
    respond(request) {
      const response = host.respondWithOptions(request, (configured) =>
        respondToChat(host, { configured, request, now }),
      );
      host.track(response);
      return response;
    },
  };
}

interface ChatCall {
  readonly configured: Configured;
  readonly request: GatewayRequest;
  readonly now: () => number;
}

/** @throws GatewayError if the request is refused before it is one of `/v1` */
async function respondToChat(
  host: RouteHost<Configured>,
  { configured, request, now }: ChatCall,
): Promise<GatewayResponse> {
  const { caller, fields: sent } = await readForeignRequest(host, configured, request);
  const model = configured.resolveModel(sent["model"], caller, "generate");
  const { fields, includesUsage } = readChatRequest(sent);
  const response = await sendConverted(host, request, {
    urlBefore: findUrlBefore(request, "/v1/chat/completions"),
    model,
    fields,
    caller: {
      ...caller,
      // LibreChat shows the links in the text, and no base64: its profile is for its image tools.
      responseFormat: caller.responseFormat ?? (caller.client === "librechat" ? "url" : undefined),
      streamFormat: "openai",
      // Chat programs choose a ratio, or nothing.
      sizes: caller.sizes ?? "nearest",
    },
  });
  // Errors have the same envelope, and a task stays a task.
  if (response.status !== 200) return response;
  const context = {
    id: response.headers["x-request-id"] ?? "",
    model: model.name,
    created: Math.floor(now() / 1000),
  };
  if (isStream(response)) return convertStream(response, createChunkTranslation(context, includesUsage));
  const completion = toCompletion(await readConverted(response), context);
  return { status: 200, headers: response.headers, body: JSON.stringify(completion) };
}
