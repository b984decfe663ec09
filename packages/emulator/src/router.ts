import { ark } from "./ark/ark.js";
import { controlPath, handleControl } from "./control-routes.js";
import { dashscope } from "./dashscope/dashscope.js";
import { handleCall } from "./handle-call.js";
import { jsonResponse } from "./http/responses.js";
import { providerOfLink, serveLink } from "./links/links.js";
import type { Provider } from "./provider.js";
import { recordRequest } from "./recorder.js";
import type { Services } from "./services.js";

/** Responds to one request. Result links in the response have this origin. */
export type Router = (request: Request, origin: string) => Promise<Response>;

const providers: readonly Provider[] = [ark, dashscope];

export function createRouter(services: Services): Router {
  return async (request, origin) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(controlPath)) return handleControl(request, services);

    const owner = providerOfLink(pathname);
    if (owner !== undefined) {
      recordRequest({ request, route: "link", services });
      return serveLink(request, owner, services);
    }

    const provider = providers.find(({ basePath }) => pathname.startsWith(basePath));
    if (provider?.generationPath === pathname && request.method === "POST") {
      return handleCall(provider, request, { origin, services });
    }
    recordRequest({ request, route: "unknown", services });
    return provider?.renderNotFound(provider.createRequestId(services)) ?? unknownPath(pathname);
  };
}

function unknownPath(pathname: string): Response {
  const paths = providers.map(({ generationPath }) => `POST ${generationPath}`).join(", ");
  return jsonResponse({ message: `The emulator has no path ${pathname}. Its paths are ${paths}.` }, 404);
}
