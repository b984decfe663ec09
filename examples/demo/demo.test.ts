import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "calotype-demo-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("tours the gateway, saves the pictures, shows what each call cost, and ends", () => {
  const demo = fileURLToPath(new URL("demo.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo], {
    env: { ...process.env, PORT: "", DEMO_OUTPUT: folder },
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(readdirSync(folder)).toHaveLength(14);
  expect(stdout).toContain("████ 4 of 4");
  expect(stdout).toMatch(/seedream-4-5-251128 +generate +ark +4 +2048x2048 .* 1 = 4 × 0\.25 × 1/);
  expect(stdout).toMatch(/seedream-4-5-251128 +edit +ark +1 +2048x2048 /);
  expect(stdout).toMatch(/image-2\.0-pro +generate +dashscope +1 +1328x1328 .* 0\.5 = 1 × 0\.5 × 1/);
  expect(stdout.match(/^curl /gm)).toHaveLength(8);
  // The key of the callers is for the user to type; those of the providers are nobody's business.
  expect(stdout).toContain("Bearer sk-demo");
  expect(stdout).not.toMatch(/(?:ark|dashscope)-demo-key/);
}, 60_000);
