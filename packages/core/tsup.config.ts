import { defineConfig } from "tsup";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    adapter: "src/adapter.ts",
    billing: "src/billing.ts",
    compose: "src/compose.ts",
    // In files of their own, so that a bundler leaves out those that are not used.
    "families/qwen-image/qwen-image": "src/families/qwen-image/qwen-image.ts",
    "families/seedream/seedream": "src/families/seedream/seedream.ts",
    "features/usage/memory-history": "src/features/usage/memory-history.ts",
    "features/usage/memory-history-none": "src/features/usage/memory-history-none.ts",
    "families/index": "src/families/index.ts",
    "families/bfl/bfl": "src/families/bfl/bfl.ts",
    "families/fal/fal": "src/families/fal/fal.ts",
    "families/gemini/gemini": "src/families/gemini/gemini.ts",
    "families/openai/index": "src/families/openai/index.ts",
    "families/replicate/replicate": "src/families/replicate/replicate.ts",
    openapi: "src/openapi.ts",
    "features/openapi/document": "src/features/openapi/document.ts",
    "features/openapi/document-none": "src/features/openapi/document-none.ts",
    operator: "src/operator.ts",
    "features/reference-page/index": "src/features/reference-page/index.ts",
    sse: "src/sse.ts",
    stores: "src/stores.ts",
    testing: "src/testing.ts",
    "node-version": "src/node-version.ts",
    "features/key-command/calotype-key": "src/features/key-command/calotype-key.ts",
    "features/refusals/refusals": "src/features/refusals/refusals.ts",
    "features/refusals/refusals-log-only": "src/features/refusals/refusals-log-only.ts",
    "images/temporary-file-node": "src/images/temporary-file-node.ts",
    "images/temporary-file-none": "src/images/temporary-file-none.ts",
    "upstream/transport-node": "src/upstream/transport-node.ts",
    "upstream/transport-fetch": "src/upstream/transport-fetch.ts",
  },
  format: "esm",
  target: "es2023",
  platform: "neutral",
  sourcemap: true,
  clean: true,
  noExternal: ["zod"], // its many files take as long to import as all of core
  // The names with # are chosen by the runtime, through `imports` of package.json.
  external: [
    /^node:/,
    "#memory-history",
    "#node-version",
    "#openapi",
    "#refusals",
    "#temporary-file",
    "#transport",
  ],
  removeNodeProtocol: false, // Deno and workerd know these modules by `node:…`
  dts: false, // tsc emits the declarations: tsup's own emitter fails under TypeScript 7
});
