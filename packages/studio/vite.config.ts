import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const root = fileURLToPath(new URL("src/page", import.meta.url));

// Vite keeps a value that the shell has, and the page would have other code then.
process.env["NODE_ENV"] = "production";

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
  build: {
    outDir: fileURLToPath(new URL("dist/page", import.meta.url)),
    emptyOutDir: true,
    license: { fileName: "licenses.json" },
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
