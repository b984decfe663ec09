import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** The versions of React that the tests use, and the names of their packages. */
export const REACT_VERSIONS = {
  "React 19": { react: "react", "react-dom": "react-dom" },
  "React 18": { react: "react18", "react-dom": "react-dom18" },
} as const;

/** Bundles the page with a version of React. It is React's development build, because only that one has a strict mode. */
export async function bundlePage(version: keyof typeof REACT_VERSIONS): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.tsx", import.meta.url))],
    absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
    bundle: true,
    format: "iife",
    platform: "browser",
    target: "es2023",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
    alias: REACT_VERSIONS[version],
    write: false,
    logLevel: "error",
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error("The page has no script.");
  return file.contents;
}
