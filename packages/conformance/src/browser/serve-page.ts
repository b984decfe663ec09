import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { type Listening, listen } from "../support/listen.js";
import { readText } from "../support/workspace.js";

const FOLDER = "packages/conformance/fixtures/page";

/** The page of the fixtures, bundled with the official client. */
export async function buildPage(): Promise<ReadonlyMap<string, Asset>> {
  const entry = fileURLToPath(new URL("../../fixtures/page/page.ts", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    // The page shows the names of errors.
    keepNames: true,
    write: false,
    logLevel: "silent",
  });
  const [script] = outputFiles;
  if (script === undefined) throw new Error("The page has no script.");
  return new Map([
    ["/", { type: "text/html", text: readText(`${FOLDER}/index.html`) }],
    ["/page.js", { type: "text/javascript", text: script.text }],
  ]);
}

/** A file of the page. */
interface Asset {
  readonly type: string;
  readonly text: string;
}

/** Serves the page on a free port, so that it has an origin of its own. */
export function servePage(assets: ReadonlyMap<string, Asset>): Promise<Listening> {
  return listen((request, response) => {
    const asset = assets.get(new URL(request.url ?? "/", "http://page").pathname);
    if (asset === undefined) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": asset.type }).end(asset.text);
  });
}
