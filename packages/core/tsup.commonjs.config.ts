import { defineConfig } from "tsup";

/**
 * `@calotype/core/billing` as one CommonJS file, so that unit tests of prices run in jest without configuration. Node itself
 * never loads it: the condition `module-sync` gives `require` the ES module, and so one class `GatewayError`.
 */
export default defineConfig({
  entry: { billing: "src/billing.ts" },
  format: "cjs",
  target: "es2023",
  platform: "neutral",
  sourcemap: true,
  clean: false,
  dts: false,
  esbuildOptions: (options) => {
    options.alias = { "#memory-history": "./src/features/usage/memory-history.ts" };
  },
});
