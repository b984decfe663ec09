import { answerCall } from "./answer-call.js";
import { ark } from "./ark/ark.js";
import { answerControl, controlPath } from "./control-routes.js";
import { dashscope } from "./dashscope/dashscope.js";
import { jsonResponse } from "./http/json-response.js";
import { providerOfLink, serveLink } from "./links/serve.js";
import type { Provider } from "./provider.js";
import { recordRequest } from "./record-request.js";
import type { Services } from "./services.js";

/** Answers one request; result links in the answer point to `origin`. */
export type Router = (request: Request, origin: string) => Promise<Response>;

const providers: readonly Provider[] = [ark, dashscope];

export function createRouter(services: Services): Router {
  return async (request, origin) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(controlPath)) return answerControl(request, services);

    const owner = providerOfLink(pathname);
    if (owner !== undefined) {
      recordRequest({ request, route: "link", services });
      return serveLink(request, owner, services);
    }

    const provider = providers.find(({ basePath }) => pathname.startsWith(basePath));
    if (provider?.generationPath === pathname && request.method === "POST") {
      return answerCall(provider, request, origin, services);
    }
    recordRequest({ request, route: "unknown", services });
    return provider?.renderNotFound(provider.createRequestId(services)) ?? nothingHere(pathname);
  };
}

function nothingHere(pathname: string): Response {
  const paths = providers.map(({ generationPath }) => `POST ${generationPath}`).join(", ");
  return jsonResponse({ message: `The emulator has nothing at ${pathname}. It answers ${paths}.` }, 404);
}
