import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

const root = fileURLToPath(new URL("src/page", import.meta.url));

// Vite keeps a value that the shell has, and the page would have other code then.
process.env["NODE_ENV"] = "production";

const LICENSES = "licenses.json";

/** Adds the packages of fonts and other files to the list of licenses, because Vite lists those of modules only. */
const listFiles: Plugin = {
  name: "list-files",
  writeBundle({ dir = "" }, bundle) {
    const path = join(dir, LICENSES);
    const listed: object[] = JSON.parse(readFileSync(path, "utf8"));
    const sources = Object.values(bundle).flatMap((output) =>
      output.type === "asset" ? output.originalFileNames : [],
    );
    const owners = sources.flatMap(
      (source) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(source) ?? [],
    );
    for (const owner of new Set(owners)) {
      const read = (file: string): string => readFileSync(resolve(root, owner, file), "utf8");
      const { name, version, license: identifier } = JSON.parse(read("package.json"));
      listed.push({ name, version, identifier, text: read("LICENSE") });
    }
    writeFileSync(path, JSON.stringify(listed));
  },
};

/** Builds the page to `dist/page`. `tsup.config.ts` then puts its files into the package's code. */
export default defineConfig({
  root,
  // The server writes the real path before each address of the page.
  base: "/__studio__/",
  // The server writes the real path into the HTML only. Scripts and styles name their files relative to themselves.
  experimental: {
    renderBuiltUrl: (_file, { hostType }) => (hostType === "html" ? undefined : { relative: true }),
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [listFiles],
  build: {
    outDir: fileURLToPath(new URL("dist/page", import.meta.url)),
    emptyOutDir: true,
    license: { fileName: LICENSES },
    target: "es2023",
    // A data URL would need an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      onwarn(warning, warn) {
        // Base UI marks its modules for servers that render React. Here is none.
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") warn(warning);
      },
    },
  },
});
