import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Bundles the client for browsers, minified. */
export async function bundleClient(format: "esm" | "iife"): Promise<{ code: Uint8Array; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("../index.ts", import.meta.url))],
    bundle: true,
    minify: true,
    format,
    globalName: "calotype",
    platform: "browser",
    target: "es2023",
    write: false,
    metafile: true,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error("The bundle is empty.");
  return { code: file.contents, inputs: Object.keys(metafile.inputs) };
}
