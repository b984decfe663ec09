import type { GatewayRequest, GatewayResponse } from "../../http.js";
import { listsTag } from "../../request/entity-tag.js";

/**
 * Serves a page for people who read the OpenAPI document, at `GET {base}/reference`. {@link createReference} makes one of the
 * files of a package. If it rejects, the response is a 500.
 *
 * @param file the path below `reference/`, which is one name without slashes; `""` for the page itself
 * @returns `undefined` if the page has no such file; the response is then a 404
 */
export type ReferencePage = (
  file: string,
  request: Pick<GatewayRequest, "url" | "headers">,
) => Promise<GatewayResponse | undefined>;

/** What {@link createReference} needs. */
export interface ReferenceOptions {
  /** The page: `swagger-ui` of the package `swagger-ui-dist`, or `scalar` of `@scalar/api-reference`. */
  readonly page: "swagger-ui" | "scalar";
  /**
   * Returns a file of the package, which you install. It is called once for each file, with the first request for it, and again
   * if it rejects.
   *
   * @param path the path in the package: `swagger-ui-bundle.js`, `swagger-ui.css`, or `dist/browser/standalone.js`
   */
  readonly read: (path: string) => Promise<string | Uint8Array<ArrayBuffer>>;
}

/** How a package shows the document. */
interface Page {
  /** The files of the package, by the names under which they are served. */
  readonly files: Readonly<Record<string, string>>;
  /** The call that shows the document at `url` in the element `reference`. */
  readonly start: string;
  /** The `style-src` of the page. */
  readonly styles: string;
}

const PAGES: Readonly<Record<ReferenceOptions["page"], Page>> = {
  "swagger-ui": {
    files: { "page.js": "swagger-ui-bundle.js", "page.css": "swagger-ui.css" },
    // The validator is a server of others, to which the page would send the document's address.
    start: 'SwaggerUIBundle({ url, dom_id: "#reference", validatorUrl: null, deepLinking: true });',
    styles: "'self'",
  },
  scalar: {
    files: { "page.js": "dist/browser/standalone.js" },
    // Everything that needs a server of others is turned off.
    start:
      'Scalar.createApiReference("#reference", { url, withDefaultFonts: false, telemetry: false, ' +
      'hideClientButton: true, showDeveloperTools: "never", agent: { disabled: true }, mcp: { disabled: true } });',
    // Its script creates style elements.
    styles: "'self' 'unsafe-inline'",
  },
};

const TYPES: Readonly<Record<string, string>> = {
  "": "text/html; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "start.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
};

/** A file of a page. */
interface ServedFile {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly tag: string;
}

/**
 * Creates the page of the option `reference`, which shows the gateway's own `openapi.json`. The files come from a package that you
 * install, and from no other server; a Content-Security-Policy enforces this. The page contains no key. A person may enter one there,
 * and then sends requests that are charged.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { createGateway } from "@calotype/core";
 * import { createReference } from "@calotype/core/reference";
 *
 * const swagger = import.meta.resolve("swagger-ui-dist/package.json");
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 *   openapi: true,
 *   reference: createReference({ page: "swagger-ui", read: (path) => readFile(new URL(path, swagger)) }),
 * });
 * ```
 */
export function createReference({ page, read }: ReferenceOptions): ReferencePage {
  if (!Object.hasOwn(PAGES, page)) {
    throw new TypeError(`page of createReference must be ${Object.keys(PAGES).join(" or ")}.`);
  }
  const { files, start, styles } = PAGES[page];
  const served = new Map<string, Promise<ServedFile>>();

  const load = (name: string, path: string): Promise<ServedFile> => {
    const known = served.get(name);
    if (known !== undefined) return known;
    const loaded = read(path).then(toFile);
    served.set(name, loaded);
    // The next request reads it again. This one fails with the same error.
    loaded.catch(() => served.delete(name));
    return loaded;
  };

  const open = async (name: string, url: string): Promise<ServedFile | undefined> => {
    if (name === "") return toFile(renderPage(Object.keys(files), url));
    if (name === "start.js") return toFile(renderStart(start));
    const path = Object.hasOwn(files, name) ? files[name] : undefined;
    return path === undefined ? undefined : load(name, path);
  };

  return async (name, { url, headers }) => {
    const file = await open(name, url);
    if (file === undefined) return undefined;
    const isKnown = listsTag(headers.get("if-none-match"), file.tag);
    return {
      status: isKnown ? 304 : 200,
      headers: {
        "content-type": TYPES[name] ?? "application/octet-stream",
        "content-security-policy": createPolicy(styles),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        // The browser keeps a file, and asks each time whether it has changed.
        "cache-control": "no-cache",
        etag: file.tag,
      },
      body: isKnown ? "" : file.body,
    };
  };
}

/** Only what this server serves runs, and requests go to this server only. */
function createPolicy(styles: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src ${styles}`,
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * The page. Its links are relative, so that they are right below every path, also behind a proxy that removes a part of
 * it: `reference/page.js` at `/ai/reference`, and `page.js` at `/ai/reference/`.
 */
function renderPage(files: readonly string[], url: string): string {
  const folder = url.split(/[?#]/, 1)[0]?.endsWith("/") ? "" : "reference/";
  const style = files.includes("page.css") ? `<link rel="stylesheet" href="${folder}page.css">\n` : "";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
${style}</head>
<body>
<div id="reference"></div>
<script src="${folder}page.js"></script>
<script src="${folder}start.js"></script>
</body>
</html>
`;
}

/** The document is next to the folder of this script. */
function renderStart(call: string): string {
  return `const url = new URL("../openapi.json", document.currentScript.src).href;\n${call}\n`;
}

async function toFile(body: string | Uint8Array<ArrayBuffer>): Promise<ServedFile> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hash = Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { body, tag: `"${hash}"` };
}
