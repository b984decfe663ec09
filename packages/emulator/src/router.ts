import { ark } from "./ark/ark.js";
import { baseUrlsAt } from "./base-urls.js";
import { controlPath, handleControl } from "./control-routes.js";
import { dashscope } from "./dashscope/dashscope.js";
import { ideogram } from "./dialects/ideogram.js";
import { localai } from "./dialects/localai.js";
import { mai } from "./dialects/mai.js";
import { minimax } from "./dialects/minimax.js";
import { openrouter } from "./dialects/openrouter.js";
import { recraft } from "./dialects/recraft.js";
import { siliconflow } from "./dialects/siliconflow.js";
import { together } from "./dialects/together.js";
import { tokenhub } from "./dialects/tokenhub.js";
import { vllm } from "./dialects/vllm.js";
import { xai } from "./dialects/xai.js";
import { zhipu } from "./dialects/zhipu.js";
import { gemini, vertex } from "./gemini/gemini.js";
import { type FoundOperation, handleCall } from "./handle-call.js";
import { jsonResponse } from "./http/responses.js";
import { handleLink } from "./links/handle-link.js";
import { providerOfLink } from "./links/links.js";
import { azure, openai } from "./openai/openai.js";
import type { Provider } from "./provider.js";
import { recordRequest } from "./recorder.js";
import type { Services } from "./services.js";
import { bfl } from "./tasks/bfl.js";
import { fal } from "./tasks/fal.js";
import { relay } from "./tasks/relay.js";
import { replicate } from "./tasks/replicate.js";

/** Responds to one request. Result links in the response have this origin. */
export type Router = (request: Request, origin: string) => Promise<Response>;

/** All APIs of the emulator. The first one whose base path matches has the request. */
const providers: readonly Provider[] = [
  ark,
  dashscope,
  openai,
  azure,
  xai,
  openrouter,
  together,
  siliconflow,
  zhipu,
  vllm,
  localai,
  gemini,
  bfl,
  fal,
  replicate,
  relay,
  minimax,
  recraft,
  mai,
  ideogram,
  tokenhub,
  vertex,
];

export function createRouter(services: Services): Router {
  return async (request, origin) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(controlPath)) return handleControl(request, services);

    const owner = providerOfLink(pathname);
    if (owner !== undefined) {
      recordRequest({ request, route: "link", services });
      return handleLink(request, owner, services);
    }

    const found = findOperation(request.method, pathname);
    if (found !== undefined) return handleCall(found, request, { origin, services });
    recordRequest({ request, route: "unknown", services });
    const provider = providers.find(({ basePaths }) => basePaths.some((path) => pathname.startsWith(path)));
    return (
      provider?.renderNotFound(provider.createRequestId(services), request) ??
      jsonResponse({ message: unknownPath(pathname) }, 404)
    );
  };
}

/** The operation that serves a path, if the emulator has one. */
export function findOperation(method: string, pathname: string): FoundOperation | undefined {
  for (const provider of providers) {
    const basePath = provider.basePaths.find((path) => pathname.startsWith(path));
    if (basePath === undefined) continue;
    const rest = pathname.slice(basePath.length);
    for (const operation of provider.operations) {
      const match = operation.method === method ? operation.path.exec(rest) : null;
      if (match !== null) return { provider, operation, params: decodeGroups(match.groups) };
    }
  }
  return undefined;
}

function decodeGroups(groups: Readonly<Record<string, string | undefined>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(groups).flatMap(([name, value]) => (value === undefined ? [] : [[name, decode(value)]])),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function unknownPath(pathname: string): string {
  const paths = Object.values(baseUrlsAt("")).join(", ");
  return `The emulator has no path ${pathname}. Its base paths are ${paths}.`;
}
