import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A file of the page. */
interface PageFile {
  readonly type: string;
  readonly text: string;
}

const HTML = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Pictures</title>
    <link rel="stylesheet" href="/style.css">
    <script type="module" src="/page.js"></script>
  </head>
  <body></body>
</html>
`;

export const PAGE_PATHS = ["/", "/page.js", "/style.css"];

const isProduction = process.env.NODE_ENV === "production";
let files = await bundlePage(); // fails at startup if the page has an error

/** Returns a file of the page. While you develop, it is bundled again at each reload, so a reload shows your changes. */
export async function readPage(path: string): Promise<PageFile> {
  if (path === "/" && !isProduction) files = await bundlePage();
  const file = files.get(path);
  if (file === undefined) throw new Error(`The page has no file ${path}.`);
  return file;
}

async function bundlePage(): Promise<ReadonlyMap<string, PageFile>> {
  const toPath = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const { outputFiles } = await build({
    entryPoints: { page: toPath("browser.tsx"), style: toPath("style.css") },
    bundle: true,
    format: "esm",
    jsx: "automatic",
    minify: isProduction,
    outdir: "/",
    write: false,
  });
  const read = (path: string): string => outputFiles.find((file) => file.path.endsWith(path))?.text ?? "";
  return new Map([
    ["/", { type: "text/html; charset=utf-8", text: HTML }],
    ["/page.js", { type: "text/javascript; charset=utf-8", text: read("/page.js") }],
    ["/style.css", { type: "text/css; charset=utf-8", text: read("/style.css") }],
  ]);
}
