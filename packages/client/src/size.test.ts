import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";

it("is smaller than 6 kB after gzip, and imports nothing", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("index.ts", import.meta.url))],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2023",
    write: false,
    metafile: true,
  });
  const bytes = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;

  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThan(6_000);
  expect(Object.keys(metafile.inputs).filter((path) => path.includes("node_modules"))).toEqual([]);
});
