import { globSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig } from "tsup";

const PAGE = join(import.meta.dirname, "dist/page");
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** The packages in the page and their licenses. The tarball has them in THIRD_PARTY_LICENSES.txt and in its bill of materials. */
const LICENSES = "licenses.json";
const licenses = readFileSync(join(PAGE, LICENSES));

/** The files that vite has built: `[path, type, base64 of the gzipped bytes]`. */
function readPage(): readonly (readonly [string, string, string])[] {
  const paths = globSync("**/*.*", { cwd: PAGE, exclude: [LICENSES] }).toSorted();
  if (paths.length === 0) throw new Error("dist/page is empty: run vite build first.");
  return paths.map((path) => {
    const type = TYPES[extname(path)];
    if (type === undefined) throw new Error(`${path} has a type that the studio does not serve.`);
    return [path, type, gzipSync(readFileSync(join(PAGE, path)), { level: 9 }).toString("base64")];
  });
}

export default defineConfig({
  entry: { index: "src/index.ts", assets: "src/assets.ts" },
  format: "esm",
  target: "es2023",
  platform: "neutral",
  sourcemap: true,
  splitting: false,
  clean: true, // also dist/page, which was read above
  onSuccess: async () => writeFileSync(join(import.meta.dirname, "dist", LICENSES), licenses),
  external: ["#assets"],
  // A string: for anything else, esbuild names a source that does not exist in the source map.
  define: { BUILT_PAGE: JSON.stringify(JSON.stringify(readPage())) },
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
