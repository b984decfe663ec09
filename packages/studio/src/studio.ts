import { type Caller, consoleLogger, type Gateway, type Logger } from "@calotype/core";
import {
  checkMounted,
  checkOptionNames,
  createFetch,
  type GatewayRequest,
  type GatewayResponse,
} from "@calotype/core/adapter";
import { type Authorize, findAccess } from "./access.js";
import { createApi } from "./api/api.js";
import type { StudioGateway } from "./api/route.js";
import { isProduction } from "./local-request.js";
import { respondWithFile, respondWithPage } from "./page-files.js";
import { refuse } from "./refused-page.js";
import { respondToFailure, respondWithError } from "./respond.js";
import { createTerminalSessions, type SessionTarget } from "./terminal-sessions.js";

/** The options of {@link createStudio}. */
export interface StudioOptions {
  /**
   * Your own check of who may open the studio: `"viewer"` may look, `"admin"` may also change callers, probe channels, and
   * spend the money of `caller`. It is called for every request of the page. `"terminal"` lets in, as admin, browsers that have
   * opened a link which the studio prints in the terminal. Default: as with `"terminal"`, but only for requests that come
   * from this machine and through no known proxy, and never with `NODE_ENV=production`.
   */
  readonly authorize?: Authorize | undefined;
  /**
   * Who pays for images in Try without an API key: the id of a caller of the gateway, or a caller that only the studio has,
   * such as `{ id: "studio", budget: { amount: "5", period: "day" } }`. Its requests are limited and charged like any
   * other. Default: none, and Try needs an API key.
   */
  readonly caller?: string | Caller | undefined;
  /**
   * The path of the studio if the host gives no path of its own, such as `toNodeHandler(createStudio(…))` without a
   * framework. Default `/studio`.
   */
  readonly basePath?: string | undefined;
  /**
   * The currency of your prices, such as `CNY`, which is shown beside amounts. If models have different ones, name that of each
   * model or series, such as `{ "gpt-image-*": "USD", "*": "CNY" }`: amounts of different models are then not added up.
   * Default: amounts have no currency.
   */
  readonly currency?: string | Readonly<Record<string, string>> | undefined;
  /** Gets the errors of the studio. Default: lines of JSON on stderr. */
  readonly logger?: Logger | undefined;
}

/** A studio, to be mounted with the adapters of a gateway. */
export interface Studio extends Pick<Gateway, "basePath" | "handle" | "notFound" | "fetch"> {
  /**
   * Prints a link on stderr that opens the studio in one browser, once and within ten minutes. The studio also prints one when its
   * page is opened without a session. Call it where the app says at which address it listens. It does nothing if the
   * studio needs no link, or refuses every request.
   *
   * @param url the address of the studio, such as `http://localhost:8787/studio`
   * @throws TypeError if it is no address
   */
  printLink(url: string): void;
}

/** The views of the page. Their paths get its HTML. */
const VIEWS: ReadonlySet<string> = new Set(["", "try", "usage", "channels", "callers", "tasks", "prices"]);

/**
 * Creates a page for the operator of a gateway: try a prompt, see what it costs and what was spent, the channels, the callers
 * and their budgets, and the prices. Mount it at a path of its own, in the way in which the gateway is mounted.
 *
 * @param gateway the gateway that the page shows
 * @param options who may open the page, and who pays for images in Try. Without `authorize` only this machine may open it.
 * @throws TypeError for a wrong option, such as a misspelled `authorize`, or a `basePath` that is not a path such as `/studio`
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { createStudio } from "@calotype/studio";
 *
 * declare function findUser(cookie: string): Promise<{ isAdmin: boolean } | undefined>; // of your own sessions
 *
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const studio = createStudio(gateway, {
 *   authorize: async ({ headers }) => ((await findUser(headers.get("cookie") ?? ""))?.isAdmin ? "admin" : false),
 * });
 * const page = await studio.fetch(new Request("http://localhost/studio"));
 * // page.status === 403 if the request has no cookie of an admin
 * ```
 */
export function createStudio(gateway: StudioGateway, options: StudioOptions = {}): Studio {
  checkOptions(gateway, options);
  const { authorize, caller, currency, logger = consoleLogger } = options;
  const ownPath = checkBasePath(options.basePath ?? "/studio");
  const api = createApi({ gateway, caller, currency, logger });
  const sessions = createTerminalSessions();

  const respondTo = async (
    request: GatewayRequest,
    base: string,
    below: string,
  ): Promise<GatewayResponse> => {
    const kind = findKind(below);
    const isApi = kind === "api";
    try {
      const access = await findAccess(request, authorize);
      if ("refusal" in access) return refuse(access.refusal, { isApi, path: base });
      if (access.needsSession) {
        const response = sessions.check(request, { base, below, kind });
        if (response !== undefined) return response;
      }
      if (isApi) return await api(request, below.slice(5), access);
      if (request.method !== "GET" && request.method !== "HEAD") {
        return respondWithError(405, "method_not_allowed", "Send GET.");
      }
      if (kind === "file") return await respondWithFile(below.slice(1), request);
      const [view = ""] = below.slice(1).split("/");
      return await respondWithPage(base, VIEWS.has(view) ? 200 : 404);
    } catch (cause) {
      return respondToFailure(cause, logger);
    }
  };

  const handle: Studio["handle"] = (request) => {
    const path = readPath(request.url);
    const base = findBase(request.mountPath, ownPath);
    if (base === undefined || (path !== base && !path.startsWith(`${base}/`))) return null;
    return respondTo(request, base, path.slice(base.length));
  };
  const notFound: Studio["notFound"] = () =>
    respondWithError(404, "not_found", `The studio is at ${ownPath}.`);
  const printLink: Studio["printLink"] = (url) => {
    if (!URL.canParse(url)) throw new TypeError(`The address of the studio must be a URL, not ${url}.`);
    if (authorize === undefined && !isProduction()) sessions.printLink(url);
  };
  return { basePath: ownPath, handle, notFound, printLink, fetch: createFetch({ handle, notFound }) };
}

function findKind(below: string): SessionTarget["kind"] {
  if (below.startsWith("/api/")) return "api";
  return below.startsWith("/assets/") ? "file" : "view";
}

/** A misspelled `authorize` must not open the studio to everyone who comes through a proxy on the same machine. */
function checkOptions(gateway: StudioGateway, options: StudioOptions): void {
  checkMounted(gateway, "createStudio");
  checkOptionNames("createStudio", options, {
    authorize: true,
    caller: true,
    basePath: true,
    currency: true,
    logger: true,
  });
  const { authorize, caller, currency } = options;
  if (authorize !== undefined && typeof authorize !== "function") {
    throw new TypeError("authorize of the studio must be a function.");
  }
  const id = typeof caller === "object" ? caller?.id : caller;
  if (caller !== undefined && (typeof id !== "string" || id === "")) {
    throw new TypeError("caller of the studio must be the id of a caller, or an object with an id.");
  }
  const currencies = typeof currency === "object" && currency !== null ? Object.values(currency) : [currency];
  if (currency !== undefined && !currencies.every(isCurrency)) {
    throw new TypeError(
      `currency of the studio must be a string of 1 to ${MAX_CURRENCY} characters, or an object with one for each model.`,
    );
  }
}

const MAX_CURRENCY = 8;

function isCurrency(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "" && value.length <= MAX_CURRENCY;
}

const PATH = /^(?:\/[\w.~%@:+-]+)+$/;

/** The path at which the studio is mounted. `undefined` for one that the page could not write into its addresses. */
function findBase(mountPath: string | undefined, ownPath: string): string | undefined {
  const mounted = mountPath?.replace(/\/+$/, "") ?? "";
  if (mounted === "") return ownPath;
  return PATH.test(mounted) ? mounted : undefined;
}

function checkBasePath(basePath: string): string {
  if (PATH.test(basePath)) return basePath;
  throw new TypeError("basePath of the studio must be a path such as /studio, without a slash at its end.");
}

/** The path of an absolute URL, or of one from the root, without its query. */
function readPath(url: string): string {
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").replace(/[?#].*$/s, "");
  return path === "" ? "/" : path;
}
