import { checkOptionNames, type GatewayRequest, type GatewayResponse } from "@calotype/core/adapter";
import {
  type Configured,
  type Feature,
  GatewayError,
  type GatewayRoute,
  type Kernel,
  type RouteHost,
} from "@calotype/core/compose";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { CallerGateway } from "./caller-gateway.js";
import { checkOrigin } from "./check-origin.js";
import { addImageTools } from "./image-tools.js";
import { VERSION } from "./version.js";
import { toGatewayResponse, toWebRequest } from "./web-messages.js";

/** The options of {@link mcp}. */
export interface McpOptions {
  /**
   * The URL of the gateway in browsers, such as `https://app.example.com`, if it is behind a proxy. Only its scheme, host and port
   * count: pages of this origin may call the tools. Default: the scheme of the connection and the header `Host`.
   */
  readonly publicUrl?: string | undefined;
}

/** Adds tools to the server that responds to one request. */
export type AddTools = (server: McpServer, gateway: CallerGateway) => void;

/**
 * Serves the images of a gateway as tools for agents, at `{base}/mcp`: `generate_image`, `edit_image`, `get_task` and `list_models`.
 * The protocol is MCP over Streamable HTTP, without sessions. Each request needs the API key of a caller, and each call of a tool
 * is a request of this caller: with its limits, its budget and a usage record.
 *
 * @throws TypeError for wrong options
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { mcp } from "@calotype/mcp";
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "my-agent", key: process.env.CALOTYPE_API_KEY, budget: "10" }],
 *   billing: {
 *     model_details: { "doubao-seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.04" } },
 *   },
 *   features: [mcp()],
 * });
 * ```
 */
export function mcp(options: McpOptions = {}): Feature {
  checkOptionNames<McpOptions>("mcp", options, { publicUrl: true });
  const { publicUrl } = options;
  if (publicUrl !== undefined && !(/^https?:/i.test(publicUrl) && URL.canParse(publicUrl))) {
    throw new TypeError("The option publicUrl of mcp must be an http or https address.");
  }
  return createMcpFeature(options, addImageTools);
}

/** @param options validated */
export function createMcpFeature({ publicUrl }: McpOptions, addTools: AddTools): Feature {
  const appOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return {
    name: "mcp",
    setup: (kernel) => ({ routes: (host) => [createMcpRoute({ kernel, host, appOrigin, addTools })] }),
  };
}

/** What the route needs. */
interface McpParts {
  readonly kernel: Pick<Kernel, "contributed" | "logger" | "readerLimit">;
  readonly host: RouteHost<Configured>;
  readonly appOrigin: string | undefined;
  readonly addTools: AddTools;
}

function createMcpRoute(parts: McpParts): GatewayRoute {
  const { host } = parts;
  return {
    // A model may be called `mcp`.
    pattern: /^(?!.*\/v1\/)(.*)\/mcp$/,
    respond(request) {
      const response = host.respondWithOptions(request, (configured, id) =>
        respondToMessage(parts, { request, configured, id }),
      );
      host.track(response);
      return response;
    },
  };
}

interface McpRequest {
  readonly request: GatewayRequest;
  readonly configured: Configured;
  /** The request's id. */
  readonly id: string;
}

/** @throws GatewayError if the request is refused before its message is read */
async function respondToMessage(
  { kernel, host, appOrigin, addTools }: McpParts,
  { request, configured, id }: McpRequest,
): Promise<GatewayResponse> {
  checkMethod(request);
  checkOrigin(request, { app: appOrigin, others: kernel.contributed().cors?.origins });
  const found = configured.authenticate(request);
  // Awaited only if it is a promise, see `Authenticator`.
  const caller = "then" in found ? await found : found;
  const message = await host.readJson(request, caller.id);
  const gateway = new CallerGateway({ host, configured, request, caller });
  const handler = createMcpHandler(
    () => {
      const server = new McpServer(
        { name: "calotype", version: VERSION },
        // Nothing changes while a request is served, so there is nothing to listen to.
        { capabilities: { tools: { listChanged: false } } },
      );
      addTools(server, gateway);
      return server;
    },
    {
      // A stream has comments while an image is made, so that proxies keep the connection.
      responseMode: "sse",
      onerror: (err) =>
        kernel.logger.warn({ requestId: id, caller: caller.id, err }, "An MCP message failed."),
    },
  );
  const response = await handler.fetch(toWebRequest(request), { parsedBody: toPlainJson(message) });
  return kernel.readerLimit.watch(await toGatewayResponse(response, id));
}

/** @throws GatewayError `method_not_allowed`: without sessions, there is no stream to open and no session to end */
function checkMethod({ method }: Pick<GatewayRequest, "method">): void {
  if (method === "POST") return;
  throw new GatewayError(
    "method_not_allowed",
    `${method} is not allowed here, because this MCP server has no sessions: send POST.`,
    { headers: { allow: "POST" } },
  );
}

/** Returns numbers and data URLs as JavaScript spells them. `readJson` keeps some of them as they were sent. */
function toPlainJson(message: object): unknown {
  return JSON.parse(JSON.stringify(message));
}
