import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: ["packages/*", "examples/*"],
    reporters: ["default", "json"],
    outputFile: { json: ".reports/vitest.json" },
    coverage: { include: ["packages/*/src/**"], reporter: ["text-summary", "html"] },
  },
});
