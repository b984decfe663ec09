import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: "esm",
  target: "es2023",
  platform: "neutral",
  // Next.js and other frameworks with server components need it in a module with hooks.
  banner: { js: '"use client";' },
  sourcemap: true,
  clean: true,
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
