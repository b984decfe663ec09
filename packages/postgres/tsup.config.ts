import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts", internal: "src/internal.ts" },
  format: "esm",
  target: "es2023",
  platform: "node",
  sourcemap: true,
  clean: true,
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
