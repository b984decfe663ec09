import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { bundleClient } from "./testing/bundle.js";

it("is smaller than 6 kB after gzip, and imports nothing", async () => {
  const { code, inputs } = await bundleClient("esm");
  const bytes = gzipSync(code, { level: 9 }).length;

  expect(bytes).toBeGreaterThan(1_000);
  expect(bytes).toBeLessThan(6_000);
  expect(inputs.filter((path) => !path.startsWith("packages/client/src/"))).toEqual([]);
});
