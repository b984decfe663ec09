import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: "esm",
  target: "es2023",
  platform: "neutral",
  sourcemap: true,
  clean: true,
  external: [/^node:/],
  removeNodeProtocol: false, // Deno and workerd know these modules by `node:…`
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
