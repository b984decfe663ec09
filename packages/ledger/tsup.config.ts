import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts", "calotype-ledger": "src/calotype-ledger.ts" },
  format: "esm",
  target: "es2023",
  platform: "node",
  sourcemap: true,
  clean: true,
  removeNodeProtocol: false, // there is no "sqlite" without it
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
